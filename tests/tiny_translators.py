"""Translators with random weights, and what must hold of all that they say."""

from functools import cache
from itertools import pairwise

import pytest
import torch

from btg_seq2seq import BTGSeq2Seq, Translation, Translator
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.text.words import words_of

CORPUS = [
    "the dog saw the other dog in the garden, yes the dog.",
    "in the garden. the dog, the garden, it.",
    "das Haus ist klein, von Grund auf",
] * 3
KINDS = ["word", "bpe", "unigram"]
SHORT = DecodingSettings(beam_size=3, max_output_ratio=1.0, max_output_extra=2)
TEXTS = ["the dog saw", "", "das Haus ist klein , von Grund auf", "it"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def tokenizer_of(kind):
    return train_tokenizer(kind, CORPUS, None if kind == "word" else 330)


@cache
def translator_of(kind, seed=0, scale=1.0, **options):
    tokenizer = tokenizer_of(kind)
    torch.manual_seed(seed)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3, **options)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(scale)
    return Translator(model, tokenizer, SHORT)


def contains_words(text, target):
    """Whether the target is in the text and both ends are word boundaries there."""
    ends = {end for word in words_of(text) for end in (word.start, word.stop)}
    places = [place for place in range(len(text)) if text.startswith(target, place)]
    return any({place, place + len(target)} <= ends for place in places)


def check_provenance(translation):
    derivation = translation.derivation
    if not translation.source.strip():
        assert derivation is None
        assert translation.text == ""
        return
    phrases = derivation.phrases
    assert tuple(phrase.units for phrase in phrases) == derivation.tree.phrases
    texts = [translation.text[slice(*phrase.target_span)] for phrase in phrases]
    assert "".join(texts) == translation.text
    assert [text.strip() for text in texts] == [phrase.target for phrase in phrases]
    in_source_order = sorted(phrases, key=lambda phrase: phrase.units)
    sources = [translation.source[slice(*phrase.source_span)] for phrase in in_source_order]
    assert "".join(sources) == translation.source
    # No phrase begins or ends inside a word.
    begins = {word.start for word in words_of(translation.source)}
    starts = [phrase.source_span[0] for phrase in in_source_order[1:]]
    assert {start for start in starts if translation.source[start:].strip()} <= begins
    assert in_source_order[0].units[0] == 0
    for first, second in pairwise(in_source_order):
        assert first.units[1] == second.units[0]
    assert translation.log_prob <= 1e-9
    assert Translation.from_json(translation.to_json()) == translation


def same(first, second):
    assert first.text == second.text
    assert first.log_prob == pytest.approx(second.log_prob, abs=1e-4)
    assert first.derivation == second.derivation or (
        first.derivation.tree == second.derivation.tree
        and [p.units for p in first.derivation.phrases]
        == [p.units for p in second.derivation.phrases]
    )


# ---- without rules -------------------------------------------------------------------------


def check_obedience(rules, translation):
    """Every occurrence of a rule that is forced or kept is obeyed, or a notice names the rule."""
    words = translation.source.split(" ")
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    for rule in rules:
        own = rule.source.split()
        folded = [word.casefold() if rule.case == "insensitive" else word for word in words]
        for first in range(len(words) - len(own) + 1):
            last = first + len(own)
            inside = [*folded[first : last - 1], folded[last - 1].rstrip(",")]
            if inside != own or rule.mode == "prefer":
                continue
            begin, end = starts[first], starts[last] - 1 - words[last - 1].count(",")
            kept = (translation.source[begin:end],)
            obeyed = [
                phrase
                for phrase in translation.derivation.phrases
                if phrase.rule is not None
                and (phrase.rule.mode, phrase.rule.targets) == (rule.mode, rule.targets)
                and phrase.source == kept[0]
                and phrase.source_span[0] <= begin < phrase.source_span[1]
                and phrase.target in (rule.targets or kept)
                and contains_words(translation.text, phrase.target)
            ]
            named = any(f"rule {rule} " in notice for notice in translation.notices)
            assert obeyed or named, (rule, translation)


# ---- sentence pairs ------------------------------------------------------------------------

SOURCES = ["the dog saw it in the garden", "", "the dog", "it", "a b c d e f g h i j"]
TARGETS = ["in the garden it saw the dog", "", "it", "the dog saw", "the " * 9]


@cache
def translator_of_pairs(kind):
    """A translator for ``SOURCES`` and ``TARGETS``; its grammar takes up to 30 tokens."""
    tokenizer = train_tokenizer(kind, SOURCES + TARGETS, None if kind == "word" else 300)
    torch.manual_seed(0)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2, dropout=0.5)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3, max_grammar_length=30)
    return Translator(model.eval(), tokenizer, SHORT)
