"""The common base of the tree CRF and the leaf CRF: a distribution given by scores of splits.

Log partition, marginals, expectations, entropy and divergence, all exact. How they are computed is
left to ``kernels``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Self

import torch
from torch import Tensor

from btg_seq2seq.grammar.kernels import DIFFERENCE, LOG_WEIGHT, VALUE, Program
from btg_seq2seq.grammar.packing import split_counts
from btg_seq2seq.grammar.sizes import Sizes, check_possible, largest_scores


class SplitCRF(ABC):
    """A batch of distributions: the log weight of a derivation is the sum of its splits' scores."""

    def __init__(
        self, split_scores: Tensor, sizes: Sizes, make_program: Callable[[Tensor], Program]
    ) -> None:
        self.split_scores, self.sizes = split_scores, sizes
        self._scores = split_scores.flatten(1)  # [batch, scores]
        self._score_counts = split_counts(sizes.lengths) * split_scores[0, :1].numel()  # [batch]
        self._program = make_program(largest_scores(self._scores, self._score_counts))

    @property
    def limits(self) -> Tensor:
        """Longest phrase that each sentence may have, ``[batch]``."""
        return self.sizes.limits

    @cached_property
    def _graph_columns(self) -> Tensor:
        # Kept for later calls, which may want gradients where the first one did not.
        with torch.inference_mode(False), torch.enable_grad():
            columns = self._program.log_partitions(self._scores)
        check_possible(self._own_column(columns), self.sizes)
        return columns

    @property
    def _columns(self) -> Tensor:
        """Log partitions as the program returns them: ``[batch, columns]``."""
        columns = self._graph_columns
        return columns if torch.is_grad_enabled() else columns.detach()

    @abstractmethod
    def _own_column(self, columns: Tensor) -> Tensor:
        """The column of each sentence's own number of leaves, ``[batch]``."""

    @property
    def _log_partition(self) -> Tensor:
        return self._own_column(self._columns)

    @property
    def log_partition(self) -> Tensor:
        """Log of the summed weights of all derivations, ``[batch]``."""
        return self._log_partition.to(self.split_scores.dtype)

    @cached_property
    def marginals(self) -> Tensor:
        """Probability that the derivation uses each split, shaped like the scores; no gradient."""
        return self._gradient(self._own_column)

    def _gradient(self, weigh: Callable[[Tensor], Tensor]) -> Tensor:
        """Derivatives in the scores of the log partitions, summed as ``weigh`` says."""
        with torch.inference_mode(False), torch.enable_grad():
            scores = self._scores.detach().clone().requires_grad_()
            columns = self._program.log_partitions(scores)
            check_possible(self._own_column(columns), self.sizes)
            (gradient,) = torch.autograd.grad(weigh(columns).sum(), scores)
        return gradient.view_as(self.split_scores)

    def _uniforms(
        self, given: Tensor | None, choices: int, generator: torch.Generator | None
    ) -> Tensor:
        """Random numbers for a sample, ``[batch, choices]``: the given ones, or new ones."""
        shape, device = (len(self.sizes.lengths), choices), self.split_scores.device
        if given is None:
            return torch.rand(shape, generator=generator, dtype=torch.float64, device=device)
        if given.shape[0] != shape[0] or given.shape[1] < choices:
            raise ValueError(
                f"uniforms of shape {tuple(given.shape)}, but {choices} choices are made for each "
                f"of {shape[0]} sentences"
            )
        return given

    def expectation(self, values: Tensor) -> Tensor:
        """Expected sum of ``values`` (shaped like the scores) over a derivation: ``[batch]``."""
        if values.shape != self.split_scores.shape:
            raise ValueError(
                f"values of shape {tuple(values.shape)}, "
                f"but scores of shape {tuple(self.split_scores.shape)}"
            )
        log_partition, mean = self._program.expectation(self._scores, values.flatten(1), VALUE)
        check_possible(log_partition, self.sizes)
        return mean.to(self.split_scores.dtype)

    @property
    def entropy(self) -> Tensor:
        """Entropy in nats, ``[batch]``."""
        # H = log Z - E[log weight]
        log_partition, mean = self._program.expectation(
            self._scores, self._scores.detach(), LOG_WEIGHT
        )
        check_possible(log_partition, self.sizes)
        return (log_partition - mean).to(self.split_scores.dtype)

    def kl(self, other: Self) -> Tensor:
        """``KL(self || other)`` in nats, ``[batch]``; infinite where ``other`` forbids a split."""
        self._check_comparable(other)
        # KL(q || p) = E_q[s_q - s_p] - log Z_q + log Z_p
        log_partition, mean = self._program.expectation(self._scores, other._scores, DIFFERENCE)
        check_possible(log_partition, self.sizes)
        divergence = mean - log_partition + other._log_partition
        return self._with_infinities(divergence, other).to(self.split_scores.dtype)

    def _check_comparable(self, other: Self) -> None:
        if self.split_scores.shape != other.split_scores.shape or self.sizes != other.sizes:
            raise ValueError(
                "KL needs two batches with equal lengths, segments, limits and allowed leaves"
            )

    def _with_infinities(self, divergence: Tensor, other: Self) -> Tensor:
        forbidden = other._scores.isneginf()
        own = torch.arange(forbidden.shape[1], device=forbidden.device)
        forbidden &= own < self._score_counts[:, None]
        if not bool(forbidden.any()):
            return divergence
        beyond = (self.marginals.flatten(1) > 0) & forbidden
        return divergence.masked_fill(beyond.any(1), torch.inf)
