"""Example translations of dev sentences: shown and saved at each evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase, TrainerCallback, TrainerState

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext
from btg_seq2seq.training.files.names import EXAMPLES_FILE

SHOWN = 2  # sentences on the screen; all are saved


@dataclass(frozen=True)
class DevExample:
    """A dev sentence, its translation, and how it was derived.

    ``result`` is what is saved: plain values of a translation, as ``btg draw`` reads them.
    """

    source: str
    translation: str
    derivation: str | None = None  # in brackets
    result: Mapping[str, Any] | None = None

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
    """Shows and saves examples after each evaluation; training does not depend on them.

    Lines of the file that a killed run wrote after its checkpoint are dropped.
    """

    def __init__(
        self,
        examples: Examples,
        tokenizer: PreTrainedTokenizerBase,
        dev: Bitext,
        say: Callable[[str], None],
        directory: Path,
    ) -> None:
        self.examples, self.tokenizer, self.dev, self.say = examples, tokenizer, dev, say
        self.path = directory / EXAMPLES_FILE
        self._is_trimmed = False

    def on_step_end(self, args: Any, state: TrainerState, *_: Any, **__: Any) -> None:
        """Keep the lines of earlier steps, once: a run that cannot be resumed changes nothing."""
        if self._is_trimmed or not self.path.exists():
            return
        lines = self.path.read_bytes().splitlines(keepends=True)
        self.path.write_bytes(b"".join(line for line in lines if _step(line) < state.global_step))
        self._is_trimmed = True

    def on_evaluate(self, args: Any, state: TrainerState, *_: Any, **given: Any) -> None:
        """Translate, print and save."""
        model: BTGSeq2Seq = given["model"]
        devices = [args.device] if args.device.type == "cuda" else []
        with torch.random.fork_rng(devices):
            has_trees: bool = model.config.parsers_learned
            examples = self.examples(model, self.tokenizer, self.dev, has_trees)
        for example in examples[:SHOWN]:
            for line in example.lines:
                self.say(line)
        with self.path.open("a", encoding="utf-8") as file:
            for example in examples:
                if example.result is not None:
                    file.write(json.dumps({"step": state.global_step, **example.result}) + "\n")


def _step(line: bytes) -> float:
    """Step of a line; infinite for what was only half written."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, LookupError, TypeError):
        return float("inf")
