"""Means of the terms that a loss is made of, over batches and processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import torch
from accelerate.utils import gather_object  # type: ignore[import-untyped]
from torch import Tensor

from btg_seq2seq.text.batches import IGNORED


class TermMeans:
    """Means of the terms of many batches: those a token by tokens, others by sentences.

    ``parsed`` is the share of sentences that are learned with trees: the other terms are theirs.
    """

    PER_TOKEN = ("loss", "flat")

    def __init__(self) -> None:
        self.sums: dict[str, list[Tensor]] = defaultdict(list)
        self.weights: dict[str, list[Tensor]] = defaultdict(list)

    def add(self, terms: Mapping[str, Tensor], labels: Tensor) -> None:
        """Take in the terms of a batch."""
        tokens, sentences = (labels != IGNORED).sum(), labels.new_tensor(len(labels))
        weights = dict.fromkeys(self.PER_TOKEN, tokens) | {"parsed": sentences}
        with_trees = sentences * terms.get("parsed", 1)
        for name, term in terms.items():
            weight = weights.get(name, with_trees)
            self.sums[name].append(term.detach() * weight)
            self.weights[name].append(weight)

    def take(self) -> dict[str, float]:
        """The means over all batches of all processes so far; then start anew."""
        own = [(name, _sum(self.sums[name]), _sum(self.weights[name])) for name in self.sums]
        self.sums.clear()
        self.weights.clear()
        sums: dict[str, float] = defaultdict(float)
        weights: dict[str, float] = defaultdict(float)
        for name, value, weight in gather_object(own):
            sums[name] += value
            weights[name] += weight
        return {name: sums[name] / weights[name] for name in sums}


def _sum(values: list[Tensor]) -> float:
    return float(torch.stack(values).double().sum())


def logged_names(terms: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
    """Terms as they are logged: ``loss`` is the whole one there, here that of n > 1."""
    return {{"loss": "cut_loss"}.get(name, name): term for name, term in (terms or {}).items()}
