"""Example translations of the dev set."""

from tiny_translators import translator_of

from btg_seq2seq.drawing.drawing import draw
from btg_seq2seq.evaluation.dev_examples import DevExamples
from btg_seq2seq.text import Bitext
from btg_seq2seq.translation.translation import Translation

DEV = Bitext(["the dog", "das Haus ist klein", "it"], ["a", "b", "c"])


def test_the_first_sentences_with_derivations():
    translator = translator_of("bpe")
    found = DevExamples(2)(translator.model, translator.tokenizer, DEV)
    assert [example.source for example in found] == DEV.source[:2]
    flat = translator.translate(DEV.source[:2], "flat", beam_size=1, max_length=None)
    assert len(found) == len(flat)
    for example in found:
        assert example.derivation is None or "->" in example.derivation


def test_no_derivations_before_the_parsers_learn():
    translator = translator_of("bpe")
    found = DevExamples(1)(translator.model, translator.tokenizer, DEV, has_trees=False)
    assert [example.derivation for example in found] == [None]
    assert found[0].result["derivation"] is None


def test_what_is_saved_can_be_drawn():
    translator = translator_of("bpe")
    found = DevExamples(2, ["flat", "cky"])(translator.model, translator.tokenizer, DEV)
    results = [example.result for example in found]
    assert [(one["mode"], one["number"]) for one in results] == [
        *(("flat", 1), ("flat", 2)),
        *(("cky", 1), ("cky", 2)),
    ]
    assert [one["reference"] for one in results] == ["a", "b"] * 2
    for example in found:
        translation = Translation.from_json(example.result)
        assert translation.source == example.source
        if translation.derivation is not None:
            assert draw(translation).svg.startswith("<svg")
