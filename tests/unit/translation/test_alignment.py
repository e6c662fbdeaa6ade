"""Derivations and phrase tables of given text."""

import math

import pytest
import torch
from tiny_tokenizers import TwoLanguages

from btg_seq2seq import BTGSeq2Seq, Rule, Translator
from btg_seq2seq.derivations.batch import DerivationBatch
from btg_seq2seq.derivations.best import best_derivations, parse_pairs
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.translation.phrase_table import PhraseTable
from btg_seq2seq.translation.rules.files import read_rules

SOURCES = ["the dog saw it in the garden", "", "the dog", "it", "a b c d e f g h i j"]
TARGETS = ["in the garden it saw the dog", "", "it", "the dog saw", "the " * 9]


@pytest.fixture(scope="module", params=["word", "bpe"])
def translator(request):
    size = None if request.param == "word" else 300
    tokenizer = train_tokenizer(request.param, SOURCES + TARGETS, size)
    torch.manual_seed(0)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2, dropout=0.5)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3, max_grammar_length=30)
    settings = DecodingSettings(beam_size=3, max_output_ratio=1.0, max_output_extra=2)
    return Translator(model.eval(), tokenizer, settings)


def tokens(translator, texts):
    return [source.tokens for source in translator.reader.read(texts)]


def test_the_derivation_that_training_finds_best(translator):
    model = translator.model
    sources, targets = tokens(translator, SOURCES), tokens(translator, TARGETS)
    found = best_derivations(model, sources, targets)
    parsed = parse_pairs(model, sources, targets)
    assert found[1] is parsed[1] is None
    for row in (0, 2, 3):
        input_ids = torch.tensor([translator.framed(sources[row])])
        labels = torch.tensor([[*targets[row], model.backbone.sentence_end]])
        pair = model.read(input_ids, torch.ones_like(input_ids), labels).pair
        segments = torch.tensor([min(3, len(sources[row]), len(targets[row]))])
        best = DerivationBatch.best(model, Parsers.of(model, pair, segments))
        assert found[row].tree == best.trees[0]
        assert found[row].segmentation == best.segmentations[0]
        if segments > 1:
            assert sum(found[row].log_probs) == pytest.approx(best.log_prob.item(), abs=1e-4)
        assert parsed[row].derivation == found[row]
        assert parsed[row].prior_tree.segments == segments.item()


def test_numbers_of_phrases(translator):
    sources, targets = tokens(translator, SOURCES), tokens(translator, TARGETS)
    assert best_derivations(translator.model, sources, targets, 2)[0].tree.segments == 2
    counts = best_derivations(translator.model, sources, targets, [1, 1, 1, 1, 1])
    assert all(found is None or found.tree.segments == 1 for found in counts)
    with pytest.raises(ValueError, match="1 or more, not 0"):
        best_derivations(translator.model, sources, targets, 0)


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
        in_order = sorted(phrases, key=lambda phrase: phrase.tokens)
        assert "".join(pair.source[slice(*p.source_span)] for p in in_order) == pair.source


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


# ---- phrase tables -------------------------------------------------------------------------


def test_lines_of_moses():
    table = PhraseTable()
    table.add("das Haus", "the house", 1.0, math.log(0.5))
    table.add("das  Haus", "the house", 1.0, math.log(0.25))
    table.add("das Haus", "home", 2.0, math.log(0.125))
    table.add("daheim", "home", 2.0, 0.0)
    for source, target in [("a ||| b", "c"), ("a", ""), ("a", "\ufffd")]:
        table.add(source, target, 1.0, 0.0)
    assert table.left_out == 3
    assert list(table.lines()) == [
        "daheim ||| home ||| 0.5 1 1 ||| ||| 4 2 2",
        "das Haus ||| home ||| 0.5 0.5 0.125 ||| ||| 4 4 2",
        "das Haus ||| the house ||| 1 0.5 0.375 ||| ||| 2 4 2",
    ]
    assert len(list(table.lines(0.6))) == 1


def forward_sums(lines):
    """For each source, the sum of phi(target | source)."""
    sums = {}
    for line in lines:
        source, _, scores, *_ = line.split(" ||| ")
        sums[source] = sums.get(source, 0.0) + float(scores.split()[1])
    return sums


def test_from_a_bitext_and_back_as_rules(translator, tmp_path):
    table = PhraseTable()
    table.add_bitext(translator, SOURCES, TARGETS, 2)
    lines = list(table.lines())
    assert lines
    assert forward_sums(lines) == pytest.approx(dict.fromkeys(forward_sums(lines), 1.0), abs=1e-4)
    path = tmp_path / "table"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    for number, (rule, line) in enumerate(zip(read_rules(path), lines, strict=True), 1):
        source, target, *_ = line.split(" ||| ")
        assert rule == Rule(source, target, mode="prefer", place=f"{path}:{number}")
        assert any(source in text for text in SOURCES)
        assert any(target in text for text in TARGETS)


def test_from_sources_alone(translator):
    table = PhraseTable()
    table.add_sources(translator, SOURCES)
    lines = list(table.lines())
    assert forward_sums(lines) == pytest.approx(dict.fromkeys(forward_sums(lines), 1.0), abs=1e-4)
    for line in lines:
        source, _, scores, _, counts = line.replace("||| |||", "||| . |||").split(" ||| ")
        model = float(scores.split()[2])
        assert 0 < model < 1
        # A phrase occurs at most so often, and is translated like this with that probability.
        occurrences = sum(f" {text} ".count(source) for text in SOURCES)
        assert float(counts.split()[2]) <= occurrences * model * (1 + 1e-4)
    empty = PhraseTable()
    empty.add_sources(translator, ["", " "])
    assert len(empty) == 0


def test_what_is_too_long_for_a_table_is_told(translator):
    texts = ["the dog", "", "the " * 40, "it"]
    assert PhraseTable().add_bitext(translator, texts, ["it", "it", "it", "the " * 40]) == [2, 3]
    short = Translator(translator.model, translator.tokenizer, DecodingSettings(max_cky_length=30))
    table = PhraseTable()
    assert table.add_sources(short, texts) == [2]
    assert len(table) > 0


@pytest.mark.parametrize("threshold", [0.0, 0.05])
@pytest.mark.parametrize("limit", [None, 2])
def test_expected_counts_add_up_to_the_numbers_of_phrases(limit, threshold):
    """Also where phrases are so short that no sentence can be one of them, but by flat decoding."""
    text = "the dog saw it in"
    tokenizer = train_tokenizer("word", [text])
    torch.manual_seed(0)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=4, max_phrase_length=limit)
    added = []
    table = PhraseTable()
    table.add = lambda *pair: added.append(pair)
    settings = DecodingSettings(span_threshold=threshold, flat_weight=0.4, beam_size=2)
    table.add_sources(Translator(model.eval(), tokenizer, settings), [text])
    weights = {source.strip(): count / math.exp(log_prob) for source, _, count, log_prob in added}
    assert weights.pop(text) == pytest.approx(0.4)
    assert all(len(source.split()) <= (limit or 4) for source in weights)
    # Of n > 1, every tree covers each word once.
    for word in text.split():
        covered = sum(weight for source, weight in weights.items() if word in source.split())
        assert covered <= 0.6 + 1e-6
        assert threshold or covered == pytest.approx(0.6)
