"""Example translations of the dev set, to be shown and saved while a model is trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext
from btg_seq2seq.training.loop.show_examples import DevExample
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.translation.translator import Translator

SAVED = 4  # sentences


class DevExamples:
    """Translations of the first dev sentences, with their derivations.

    Flat translations have the posterior's derivations. With ``modes`` that include cky, the
    translations of the chart follow, once the parsers have learned.
    """

    def __init__(
        self, count: int = SAVED, modes: Sequence[Literal["flat", "cky"]] = ("flat",)
    ) -> None:
        self.count, self.modes = count, modes

    def __call__(
        self,
        model: BTGSeq2Seq,
        tokenizer: PreTrainedTokenizerBase,
        dev: Bitext,
        has_trees: bool = True,
    ) -> list[DevExample]:
        """Translate greedily; without trees, there are no derivations."""
        translator = Translator(model, tokenizer, replace(model.decoding, max_length=None))
        sources, references = dev.source[: self.count], dev.target[: self.count]
        flat = translator.translate(sources, mode="flat", beam_size=1)
        derived = flat
        if has_trees:
            derived = translator.align(sources, [translation.text for translation in flat])
        examples = list(_examples(derived, references, "flat", has_trees))
        if has_trees and "cky" in self.modes:
            found = translator.translate(sources, mode="cky")
            examples += _examples(found, references, "cky", has_trees)
        return examples


def _examples(
    found: Sequence[Translation], references: Sequence[str], mode: str, has_trees: bool
) -> Iterator[DevExample]:
    for number, (translation, reference) in enumerate(zip(found, references, strict=True), 1):
        result: dict[str, Any] = {"number": number, "reference": reference}
        result |= {**translation.to_json(), "mode": mode}
        if not has_trees:
            result["derivation"] = None
        bracket = translation.bracket if has_trees else None
        yield DevExample(translation.source, translation.text, bracket or None, result)
