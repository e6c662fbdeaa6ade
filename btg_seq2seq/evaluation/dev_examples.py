"""Example translations of the dev set, to be shown while a model is trained."""

from __future__ import annotations

from dataclasses import replace

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext
from btg_seq2seq.training.loop.show_examples import DevExample
from btg_seq2seq.translation.translator import Translator

SHOWN = 2  # sentences


class DevExamples:
    """Flat translations of the first dev sentences, with the posterior's derivations of them."""

    def __init__(self, count: int = SHOWN) -> None:
        self.count = count

    def __call__(
        self,
        model: BTGSeq2Seq,
        tokenizer: PreTrainedTokenizerBase,
        dev: Bitext,
        has_trees: bool = True,
    ) -> list[DevExample]:
        """Translate greedily; without trees, there are no derivations."""
        translator = Translator(model, tokenizer, replace(model.decoding, max_length=None))
        sources = dev.source[: self.count]
        found = translator.translate(sources, mode="flat", beam_size=1)
        texts = [translation.text for translation in found]
        if not has_trees:
            return [DevExample(*pair) for pair in zip(sources, texts, strict=True)]
        aligned = translator.align(sources, texts)
        return [
            DevExample(source, text, pair.bracket or None)
            for source, text, pair in zip(sources, texts, aligned, strict=True)
        ]
