"""A test set: text metrics, and gold trees over words against trees over tokens."""

import pytest
import torch
from tiny_tokenizers import TwoLanguages

from btg_seq2seq import BTGSeq2Seq, Translator
from btg_seq2seq.derivations.best import parse_pairs
from btg_seq2seq.evaluation.evaluate import evaluate, parser_scores
from btg_seq2seq.evaluation.metrics import MetricOptions
from btg_seq2seq.grammar import Tree
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import Bitext, train_tokenizer
from btg_seq2seq.text.gold_trees import gold_trees, over_units

SOURCE = ["the dog saw it", "", "it saw the dog", "the dog"]
TARGET = ["saw it the dog", "", "the dog it saw", "it"]
TREES = ["<0:2 2:4>", "", "[0:1 1:4]", "0:2"]


@pytest.fixture(scope="module", params=["word", "bpe"])
def translator(request):
    tokenizer = train_tokenizer(
        request.param, ["x y"] * 3 + SOURCE, None if request.param == "word" else 300
    )
    torch.manual_seed(0)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3)
    settings = DecodingSettings(beam_size=2, max_output_ratio=1.0, max_output_extra=2)
    return Translator(model, tokenizer, settings)


def test_trees_over_units():
    assert over_units(Tree.parse("<0:2 [2:3 3:4]>"), [0, 2, 3, 7, 8]) == Tree.parse(
        "<0:3 [3:7 7:8]>"
    )


def test_accuracy_of_trees(translator):
    """The model's own trees, as trees over words, are right."""
    bitext = Bitext(SOURCE, TARGET, TREES)
    rows, gold = gold_trees(translator.tokenizer, bitext)
    assert rows == [0, 2, 3]
    assert [tree.segments for tree in gold] == [2, 2, 1]
    aligned = translator.align([SOURCE[0]], [TARGET[0]], 2)[0].derivation.tree
    found = evaluate(translator, bitext)
    assert found.mode == "flat"
    assert set(found.tree_scores) == {"trees"}
    trees = found.tree_scores["trees"]
    assert set(trees) == {"posterior", "prior"}
    assert trees["posterior"] >= 100 / 3  # the tree with one leaf
    assert (aligned == gold[0]) <= (trees["posterior"] >= 200 / 3)
    with_cky = evaluate(translator, bitext, "cky", flat_weight=1.0)
    assert with_cky.tree_scores["trees"]["derivation"] == pytest.approx(100 / 3)
    assert with_cky.fallbacks == 0


def test_targets_are_read_as_targets(monkeypatch):
    tokenizer = TwoLanguages()
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    translator = Translator(BTGSeq2Seq.from_backbone(config, tokenizer), tokenizer)
    pairs = []

    def remember(model, sources, targets, segments):
        pairs.extend(zip(sources, targets, strict=True))
        return parse_pairs(model, sources, targets, segments)

    monkeypatch.setattr("btg_seq2seq.evaluation.evaluate.parse_pairs", remember)
    parser_scores(translator, Bitext(["ab cd"], ["ab"], ["[0:1 1:2]"]))
    names = [tuple(map(tokenizer.convert_ids_to_tokens, pair)) for pair in pairs]
    assert names == [(["ab", "cd"], ["_", "a", "b"])]


def test_texts(translator):
    found = evaluate(translator, Bitext(SOURCE, TARGET), "cky", max_cky_length=1)
    assert len(found.translations) == 4
    assert found.scores["exact_match"].value >= 25  # what is empty is translated as it should be
    assert found.tree_scores == {}
    assert found.fallbacks == 3
    assert found.fallback_reasons == {"more than max_cky_length = 1: translated flat": 3}
    own = [one.text for one in found.translations]
    again = evaluate(translator, Bitext(SOURCE, own), "cky", max_cky_length=1)
    assert again.scores["exact_match"].value == 100


def test_a_tokenizer_that_is_unknown_is_refused_before_the_work(translator, monkeypatch):
    monkeypatch.setattr(translator, "translate", None)
    with pytest.raises(ValueError, match="sacreBLEU has no tokenizer 'foo'"):
        evaluate(translator, Bitext(SOURCE, TARGET), options=MetricOptions(tokenize="foo"))


def test_gold_trees_are_read_once(translator, monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return gold_trees(*arguments)

    monkeypatch.setattr("btg_seq2seq.evaluation.evaluate.gold_trees", counted)
    evaluate(translator, Bitext(SOURCE, TARGET, TREES), "cky")
    assert len(calls) == 1


def test_a_tree_that_does_not_fit(translator):
    bitext = Bitext(SOURCE, TARGET, ["<0:2 2:3>", *TREES[1:]], name="test")
    with pytest.raises(ValueError, match="test: line 1: the tree <0:2 2:3> does not span the 4"):
        evaluate(translator, bitext)
