"""Metrics agree with sacreBLEU, carry its signature, and refuse what cannot be compared."""

import pytest
import sacrebleu

from btg_seq2seq.evaluation.metrics import exact_match, text_metrics, tree_accuracy
from btg_seq2seq.grammar import Tree

TRANSLATIONS = ["the cat sat on the mat .", "a  dog ran home", "cafe\u0301"]
REFERENCES = ["the cat sat on a mat .", "a dog ran home", "café"]


def test_the_same_as_sacrebleu():
    metrics = text_metrics(TRANSLATIONS, REFERENCES)
    assert metrics.sentences == 3
    assert metrics.bleu == sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert metrics.chrf == sacrebleu.corpus_chrf(TRANSLATIONS, [REFERENCES]).score
    assert metrics.exact_match == pytest.approx(200 / 3)
    assert "tok:13a" in metrics.bleu_signature
    assert f"version:{sacrebleu.__version__}" in metrics.chrf_signature


def test_tokenizer_of_bleu():
    metrics = text_metrics(["我们在花园里"], ["我们在花园"], tokenize="zh")
    assert "tok:zh" in metrics.bleu_signature
    assert metrics.bleu > 50


def test_perfect_and_hopeless():
    assert text_metrics(REFERENCES, REFERENCES).bleu == pytest.approx(100)
    assert exact_match(["", "x"], ["a", "b"]) == 0


def test_trees():
    gold = [Tree.parse("[0:1 1:2]"), Tree.parse("<0:1 1:3>"), Tree.parse("0:2")]
    assert tree_accuracy([gold[0], Tree.parse("[0:1 1:3]"), None], gold) == pytest.approx(100 / 3)
    assert tree_accuracy(gold, gold) == 100


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="1 sentences, but 2 references"):
        text_metrics(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="no references"):
        text_metrics([], [])
    with pytest.raises(ValueError, match="1 sentences, but 0 gold trees"):
        tree_accuracy([None], [])
