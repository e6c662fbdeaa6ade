"""Means of loss terms over batches and processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import torch
from accelerate.utils import gather_object  # type: ignore[import-untyped]
from torch import Tensor

from btg_seq2seq.text.batches import IGNORED


class TermMeans:
    """Means of the terms of many batches, weighted by tokens or by sentences.

    ``loss`` and ``flat`` are per token. ``parsed`` is the share of sentences learned with trees.
    All other terms are means over those sentences.
    """

    PER_TOKEN = ("loss", "flat")

    def __init__(self) -> None:
        self.sums: dict[str, list[Tensor]] = defaultdict(list)
        self.weights: dict[str, list[Tensor]] = defaultdict(list)

    def add(self, terms: Mapping[str, Tensor], labels: Tensor) -> None:
        """Add the terms of a batch."""
        tokens, sentences = (labels != IGNORED).sum(), labels.new_tensor(len(labels))
        weights = dict.fromkeys(self.PER_TOKEN, tokens) | {"parsed": sentences}
        with_trees = sentences * terms.get("parsed", 1)
        for name, term in terms.items():
            weight = weights.get(name, with_trees)
            self.sums[name].append(term.detach() * weight)
            self.weights[name].append(weight)

    def take(self) -> dict[str, float]:
        """Return the means over all batches of all processes, and reset them."""
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
