"""Example translations of dev sentences, shown at each evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase, TrainerCallback, TrainerState

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext
from btg_seq2seq.training.objective.objective import BTGObjective
from btg_seq2seq.training.objective.phases import parsers_have_learned


@dataclass(frozen=True)
class DevExample:
    """A dev sentence, its translation, and how it was derived."""

    source: str
    translation: str
    derivation: str | None = None  # in brackets

    @property
    def lines(self) -> Iterator[str]:
        """One line each, as they are printed."""
        yield f"  source       {self.source}"
        yield f"  translation  {self.translation}"
        if self.derivation:
            yield f"  derivation   {self.derivation}"


# The last argument says whether the parsers have learned: before, derivations are random.
Examples = Callable[[BTGSeq2Seq, PreTrainedTokenizerBase, Bitext, bool], Sequence[DevExample]]


class ShowExamples(TrainerCallback):
    """Shows examples after each evaluation; training does not depend on them."""

    def __init__(
        self,
        examples: Examples,
        tokenizer: PreTrainedTokenizerBase,
        dev: Bitext,
        say: Callable[[str], None],
    ) -> None:
        self.examples, self.tokenizer, self.dev, self.say = examples, tokenizer, dev, say

    def on_evaluate(self, args: Any, state: TrainerState, *_: Any, **given: Any) -> None:
        """Translate and print."""
        model: BTGSeq2Seq = given["model"]
        objective = model.objective
        has_trees = isinstance(objective, BTGObjective) and parsers_have_learned(
            objective.settings, state.global_step, model.config.max_segments
        )
        devices = [args.device] if args.device.type == "cuda" else []
        with torch.random.fork_rng(devices):
            examples = self.examples(model, self.tokenizer, self.dev, has_trees)
        for example in examples:
            for line in example.lines:
                self.say(line)
