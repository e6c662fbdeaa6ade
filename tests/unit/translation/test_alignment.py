"""Alignments of given sentence pairs: words and characters of their derivations."""

import math

import pytest
from tiny_tokenizers import TwoLanguages
from tiny_translators import SOURCES, TARGETS, translator_of, translator_of_pairs

from btg_seq2seq import BTGSeq2Seq, Translator
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text.words import words_of

SCRIPTS = [
    "arrived at the zebra crossing, unexpectedly",
    "ᎢᏣᏛᎩᏍᎨᏍᏗᏃ ᏓᏅᏩ, ᎠᎴ ᎠᏂᏃᎮᎵᏙᎲ",
    "السَّلامُ عليكم",
    "हिन्दी में क्\u200dष",
    "我们看iPhone, ภาษาไทย x",
]


@pytest.fixture(scope="module", params=["word", "bpe"])
def translator(request):
    return translator_of_pairs(request.param)


def tokens(translator, texts):
    return [source.tokens for source in translator.reader.read(texts)]


def test_one_phrase_is_as_probable_as_the_sentence(translator):
    pairs = [pair for pair in zip(SOURCES, TARGETS, strict=True) if all(pair)][:2]
    sources, targets = map(list, zip(*pairs, strict=True))
    aligned = translator.align(sources, targets, 1)
    scores = translator.score(sources, targets)
    assert [one.log_prob for one in aligned] == pytest.approx(
        [score.flat_log_prob for score in scores], abs=1e-4
    )


def test_neighbours_and_dropout_change_nothing(translator):
    translator.model.train()
    together = translator.align(SOURCES, TARGETS)
    assert translator.model.training
    translator.model.eval()
    for source, target, pair in zip(SOURCES, TARGETS, together, strict=True):
        (alone,) = translator.align([source], [target])
        assert (alone.source, alone.text, alone.mode) == (source, target, "given")
        assert alone.to_pharaoh() == pair.to_pharaoh()
        assert alone.log_prob == pytest.approx(pair.log_prob, abs=1e-4)


def test_spans_tile_both_sides(translator):
    for pair in translator.align(SOURCES, TARGETS):
        if not pair.source:
            assert pair.derivation is None
            assert pair.log_prob == 0.0
            assert pair.to_pharaoh() == ""
            continue
        if pair.derivation is None:  # too long for the grammar
            assert max(map(len, tokens(translator, [pair.source, pair.text]))) > 30
            continue
        phrases = pair.derivation.phrases
        assert "".join(pair.text[slice(*p.target_span)] for p in phrases) == pair.text
        in_order = sorted(phrases, key=lambda phrase: phrase.units)
        assert "".join(pair.source[slice(*p.source_span)] for p in in_order) == pair.source


def test_no_phrase_cuts_a_word():
    """A tokenizer that knows next to no words, and parsers with random weights."""
    translator = translator_of("bpe")
    for pair in translator.align(SCRIPTS, SCRIPTS[::-1]):
        sides = (pair.source, "source_span"), (pair.text, "target_span")
        for text, name in sides:
            begins = {word.start for word in words_of(text)}
            spans = sorted(getattr(phrase, name) for phrase in pair.derivation.phrases)
            assert {start for start, _ in spans[1:]} <= begins
        assert len(pair.derivation.phrases) > 1


def test_a_pair_without_a_derivation_has_no_probability(translator):
    for pair in translator.align(["the " * 40, "the", ""], ["it", "", "it"]):
        assert pair.derivation is None
        assert pair.log_prob == -math.inf
        assert pair.to_json()["log_prob"] is None


def test_targets_are_read_as_targets():
    tokenizer = TwoLanguages()
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    translator = Translator(BTGSeq2Seq.from_backbone(config, tokenizer), tokenizer)
    (pair,) = translator.align(["ab  cd"], ["cd ab"])
    assert tokenizer.convert_ids_to_tokens(pair.variants[0]) == ["_", "c", "d", "_", "a", "b"]
    assert pair.derivation.tree.segments == 2
    assert pair.derivation.tree.stop == 2
    assert "".join(pair.text[slice(*p.target_span)] for p in pair.derivation.phrases) == "cd ab"
