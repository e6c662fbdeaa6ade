"""Example translations of the dev set."""

from tiny_translators import translator_of

from btg_seq2seq.evaluation.dev_examples import DevExamples
from btg_seq2seq.text import Bitext

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
