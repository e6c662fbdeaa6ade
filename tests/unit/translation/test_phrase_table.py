"""Phrase tables: from a bitext, and expected counts from sources alone."""

import math

import pytest
import torch
from tiny_translators import SOURCES, TARGETS, translator_of_pairs

from btg_seq2seq import BTGSeq2Seq, Rule, Translator
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.translation.phrase_table import PhraseTable
from btg_seq2seq.translation.rules.files import read_rules


@pytest.fixture(scope="module", params=["word", "bpe"])
def translator(request):
    return translator_of_pairs(request.param)


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
