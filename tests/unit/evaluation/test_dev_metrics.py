"""Measures of the dev set: every metric of the registry, of the first sentences."""

import pytest
import torch

from btg_seq2seq import BTGSeq2Seq
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.evaluation.metrics import METRICS
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import Bitext, train_tokenizer

SOURCE = ["the dog saw it", "it saw the dog"]
TARGET = ["saw it the dog", "the dog it saw"]
TREES = ["<0:2 2:4>", "[0:1 1:4]"]


@pytest.fixture(scope="module")
def model():
    tokenizer = train_tokenizer("word", SOURCE + TARGET)
    torch.manual_seed(0)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    return BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3), tokenizer


def test_translations_and_trees(model):
    measures = DevMetrics(2)(*model, Bitext(SOURCE, TARGET, TREES))
    assert set(measures) == {*METRICS, "posterior_trees", "prior_trees"}
    assert all(0 <= value <= 100 for value in measures.values())


@pytest.mark.parametrize("trees", [None, TREES])
def test_no_translations(model, trees):
    measures = DevMetrics(0)(*model, Bitext(SOURCE, TARGET, trees))
    assert set(measures) == (set() if trees is None else {"posterior_trees", "prior_trees"})


def test_the_first_sentences_are_translated(model, monkeypatch):
    seen = []

    def remember(translations, references, options):
        seen.append((len(translations), references, options.tokenize))
        return {}

    monkeypatch.setattr("btg_seq2seq.evaluation.dev_metrics.text_scores", remember)
    DevMetrics(1)(*model, Bitext(SOURCE, TARGET))
    DevMetrics(1, "char")(*model, Bitext(SOURCE, TARGET))
    assert seen == [(1, TARGET[:1], None), (1, TARGET[:1], "char")]


def test_a_tokenizer_that_there_is_not():
    with pytest.raises(ValueError, match="sacreBLEU has no tokenizer 'words'"):
        DevMetrics(1, "words")


@pytest.mark.parametrize("learned", [True, False])
def test_both_modes_once_the_parsers_have_learned(model, learned, monkeypatch):
    transducer, tokenizer = model
    monkeypatch.setattr(transducer.config, "parsers_learned", learned)
    measures = DevMetrics(1, modes=["flat", "cky"])(transducer, tokenizer, Bitext(SOURCE, TARGET))
    cky = {f"cky_{name}" for name in METRICS}
    assert set(measures) == {*METRICS} | (cky if learned else set())
