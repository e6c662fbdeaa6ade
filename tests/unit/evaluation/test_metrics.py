"""Metrics agree with sacreBLEU, carry its signature, and refuse what cannot be compared."""

import subprocess
import sys

import pytest
import sacrebleu

from btg_seq2seq.evaluation.metrics import (
    METRICS,
    MetricOptions,
    RightTrees,
    Score,
    check_options,
    exact_match,
    register_metric,
    register_tree_metric,
    text_scores,
    tree_scores,
)
from btg_seq2seq.grammar import Tree
from btg_seq2seq.training.settings.measures import MEASURES

TRANSLATIONS = ["the cat sat on the mat .", "a  dog ran home", "cafe\u0301"]
REFERENCES = ["the cat sat on a mat .", "a dog ran home", "café"]
CHINESE = ["我们在花园里散步", "他昨天没有来学校"]


def test_the_same_as_sacrebleu():
    scores = text_scores(TRANSLATIONS, REFERENCES)
    assert list(scores)[:3] == ["exact_match", "bleu", "chrf"]
    assert scores["bleu"].value == sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert scores["chrf"].value == sacrebleu.corpus_chrf(TRANSLATIONS, [REFERENCES]).score
    assert scores["exact_match"] == Score(pytest.approx(200 / 3))
    assert "tok:13a" in scores["bleu"].signature
    assert f"version:{sacrebleu.__version__}" in scores["chrf"].signature


def test_the_tokenizer_of_bleu_follows_the_script_unless_it_is_given():
    translations = ["我们在花园散步", "他昨天没有来学校"]
    by_script = text_scores(translations, CHINESE)["bleu"]
    assert "tok:zh" in by_script.signature
    assert by_script.value > 70
    given = text_scores(translations, CHINESE, MetricOptions(tokenize="13a"))["bleu"]
    assert "tok:13a" in given.signature
    assert given.value < 10


def test_perfect_and_hopeless():
    assert text_scores(REFERENCES, REFERENCES)["bleu"].value == pytest.approx(100)
    assert exact_match(["", "x"], ["a", "b"]) == 0


def test_trees():
    gold = [Tree.parse("[0:1 1:2]"), Tree.parse("<0:1 1:3>"), Tree.parse("0:2")]
    found = [gold[0], Tree.parse("[0:1 1:3]"), None]
    assert tree_scores({"prior": found, "posterior": gold}, gold) == {
        "trees": {"prior": pytest.approx(100 / 3), "posterior": 100}
    }


def test_every_metric_can_choose_the_best_checkpoint():
    for name, metric in METRICS.items():
        assert MEASURES[name].greater_is_better == metric.greater_is_better
        assert MEASURES[name].needs == "translations"
        assert MEASURES[f"cky_{name}"].greater_is_better == metric.greater_is_better
        assert MEASURES[f"cky_{name}"].needs == "cky translations"
    assert MEASURES["posterior_trees"].needs == MEASURES["prior_trees"].needs == "trees"


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="another metric of the name 'bleu'"):
        register_metric(METRICS["bleu"])
    with pytest.raises(ValueError, match="another metric of the name 'trees'"):
        register_tree_metric(RightTrees())


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="1 sentences, but 2 references"):
        text_scores(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="no references"):
        text_scores([], [])
    with pytest.raises(ValueError, match="1 sentences, but 0 gold trees"):
        tree_scores({"prior": [None]}, [])


def test_tokenizers_that_cannot_be_used(monkeypatch):
    with pytest.raises(ValueError, match="sacreBLEU has no tokenizer 'foo'; choose from 13a, "):
        check_options(MetricOptions(tokenize="foo"))

    def missing(self, **options):
        raise RuntimeError("please\ninstall MeCab")

    monkeypatch.setattr("sacrebleu.metrics.bleu.BLEU.__init__", missing)
    with pytest.raises(ValueError, match="tokenizer 'ja-mecab': please install MeCab"):
        check_options(MetricOptions(tokenize="ja-mecab"))


def test_names_are_known_without_torch_and_sacrebleu():
    code = (
        "import sys, btg_seq2seq.evaluation.metrics; print({'torch', 'sacrebleu'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
