"""Lengths of sentences, their numbers of phrases, and checks that these are possible.

Everything a CRF is given is checked here, once, before any dynamic program runs: errors name the
sentence by its place in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from btg_seq2seq.grammar.packing import span_count, span_index, spans


@dataclass(frozen=True, eq=False)
class Sizes:
    """Everything that the dynamic programs need for each sentence besides its scores."""

    lengths: Tensor  # [batch]
    segments: Tensor  # [batch]
    limits: Tensor  # [batch]: longest phrase
    leaves: Tensor | None = None  # [batch, spans]: the only ones, where not all short ones may be

    @classmethod
    def checked(
        cls,
        lengths: Tensor | Sequence[int],
        segments: Tensor | Sequence[int],
        max_phrase_length: int | None,
        device: torch.device,
        allowed_leaves: Tensor | None = None,
    ) -> Sizes:
        """Sizes that admit at least one tree per sentence, or ``ValueError``."""
        # Kept, and used where there are gradients: they must not belong to inference mode.
        with torch.inference_mode(False):
            lengths = torch.as_tensor(lengths, device=device).clone()
            segments = torch.as_tensor(segments, device=device).clone()
            sizes = cls._checked(lengths, segments, max_phrase_length)
            if allowed_leaves is None:
                return sizes
            return sizes._restricted(torch.as_tensor(allowed_leaves, device=device).clone())

    @classmethod
    def _checked(cls, lengths: Tensor, segments: Tensor, max_phrase_length: int | None) -> Sizes:
        if lengths.numel() == 0:
            raise ValueError("a batch needs at least one sentence")
        for name, counts in (("lengths", lengths), ("segments", segments)):
            if counts.dim() != 1 or counts.is_floating_point() or counts.dtype == torch.bool:
                raise ValueError(
                    f"{name} must be a vector of integers, one per sentence, not {counts.dtype} "
                    f"of shape {tuple(counts.shape)}"
                )
        if lengths.shape != segments.shape:
            raise ValueError(f"{len(lengths)} lengths but {len(segments)} segment counts")
        for sentence in _indices(lengths < 1):
            raise ValueError(f"sentence {sentence}: length {lengths[sentence]} is less than 1")
        for sentence in _indices((segments < 1) | (segments > lengths)):
            raise ValueError(
                f"sentence {sentence}: cannot cut {lengths[sentence]} tokens into "
                f"{segments[sentence]} segments"
            )
        lengths, segments = lengths.long(), segments.long()
        limits = phrase_length_limits(lengths, segments, max_phrase_length)
        return cls(lengths, segments, limits)

    def _restricted(self, allowed: Tensor) -> Sizes:
        """The same sizes with no leaves but the allowed ones within the limits."""
        expected = (len(self.lengths), span_count(self.longest))
        if allowed.dtype != torch.bool or allowed.shape != expected:
            raise ValueError(
                f"allowed_leaves must be bool of shape {expected} for a longest sentence of "
                f"{self.longest} tokens, not {allowed.dtype} of {tuple(allowed.shape)}"
            )
        start, stop = spans(self.longest).to(allowed.device).unbind(-1)
        length = stop - start
        own = (stop <= self.lengths[:, None]) & (length <= self.limits[:, None])
        leaves = allowed & own
        limits = torch.where(leaves, length, 1).amax(1)
        sizes = Sizes(self.lengths, self.segments, limits, leaves)
        is_possible = sizes.possible.gather(1, self.segments[:, None] - 1)[:, 0]
        for sentence in _indices(~is_possible):
            raise ValueError(
                f"sentence {sentence}: its {self.lengths[sentence]} tokens cannot be cut into "
                f"{self.segments[sentence]} allowed leaves of at most {self.limits[sentence]} "
                "tokens"
            )
        return sizes

    @cached_property
    def root(self) -> Tensor:
        """Packed index of the span that is the whole sentence, ``[batch]``."""
        with torch.inference_mode(False):
            return span_index(torch.zeros_like(self.lengths), self.lengths)

    @property
    def longest(self) -> int:
        """Length of the longest sentence."""
        return int(self.lengths.max())

    @property
    def largest(self) -> int:
        """Largest number of segments."""
        return int(self.segments.max())

    @cached_property
    def reachable(self) -> Tensor:
        """Cells that a tree with this many leaves or fewer can use, ``[batch, leaves, spans]``.

        The words before a span need at least ``ceil(start / limit)`` leaves, and so on.
        """
        if self.leaves is not None:
            return self._reachable_by(self._tilings)
        start, stop = spans(self.longest).to(self.lengths.device).unbind(-1)
        lengths, limits = self.lengths[:, None], self.limits[:, None]  # [batch, 1]
        around = -(-start // limits) - (-(lengths - stop) // limits)
        most = torch.minimum(self.segments[:, None] - around, stop - start)
        least = -(-(stop - start) // limits)
        leaves = torch.arange(1, self.largest + 1, device=self.lengths.device)[:, None]
        inside = (stop <= lengths)[:, None]
        return inside & (leaves <= most[:, None]) & (leaves >= least[:, None])

    @property
    def possible(self) -> Tensor:
        """Numbers of leaves, up to its own, that a sentence can have: ``[batch, leaves]``."""
        leaves = torch.arange(1, self.largest + 1, device=self.lengths.device)
        own = leaves <= self.segments[:, None]
        if self.leaves is None:
            return own & (leaves * self.limits[:, None] >= self.lengths[:, None])
        root = self.root[:, None, None].expand(-1, self.largest, 1)
        return own & self._tilings.gather(2, root)[..., 0]

    @cached_property
    def _tilings(self) -> Tensor:
        """Spans that can be cut into 1, 2, ... allowed leaves, ``[batch, leaves, spans]``.

        ``T^m[i,k] = any_j T^(m-1)[i,j] and T^1[j,k]``: powers of the matrix of leaves.
        """
        assert self.leaves is not None
        start, stop = spans(self.longest).to(self.leaves.device).unbind(-1)
        posts = self.longest + 1
        single = torch.zeros(len(self.leaves), posts, posts, device=self.leaves.device)
        single[:, start, stop] = self.leaves.float()
        powers = [single]
        for _ in range(1, self.largest):
            powers.append((powers[-1] @ single > 0).float())
        return torch.stack([power[:, start, stop] > 0 for power in powers], 1)

    def _reachable_by(self, tilings: Tensor) -> Tensor:
        """``reachable``, exactly, where only some spans may be leaves."""
        start, stop = spans(self.longest).to(tilings.device).unbind(-1)
        leaves = torch.arange(1, self.largest + 1, device=tilings.device)[:, None]
        fewest = torch.where(tilings, leaves, self.largest + 1).amin(1)  # [batch, spans]
        # Fewest leaves before the start of each span and behind its end.
        before = torch.where(start > 0, fewest[:, span_index(torch.zeros_like(start), start)], 0)
        ends = self.lengths[:, None]
        last = span_index(stop.expand(len(ends), -1), ends).clamp(max=fewest.shape[1] - 1)
        behind = torch.where(stop < ends, fewest.gather(1, last), 0)
        around = (before + behind)[:, None]
        return tilings & (leaves + around <= self.segments[:, None, None])

    def __getitem__(self, sentences: Tensor) -> Sizes:
        chosen = Sizes(self.lengths[sentences], self.segments[sentences], self.limits[sentences])
        if self.leaves is None:
            return chosen
        return replace(chosen, leaves=self.leaves[sentences, : span_count(chosen.longest)])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sizes)
            and torch.equal(self.lengths, other.lengths)
            and torch.equal(self.segments, other.segments)
            and torch.equal(self.limits, other.limits)
            and _equal(self.leaves, other.leaves)
        )

    __hash__ = None  # type: ignore[assignment]


def _equal(first: Tensor | None, second: Tensor | None) -> bool:
    if first is None or second is None:
        return first is second
    return torch.equal(first, second)


def phrase_length_limits(
    lengths: Tensor, segments: Tensor, max_phrase_length: int | None
) -> Tensor:
    """Longest phrase each sentence may have: ``[batch]``.

    A limit under which a sentence has no segmentation at all is widened to
    ``ceil(2 length / (segments + 1))``, for that sentence alone.
    """
    if max_phrase_length is None:
        return lengths.clone()
    if not isinstance(max_phrase_length, int) or max_phrase_length < 1:
        raise ValueError(f"max_phrase_length must be an integer from 1 on, not {max_phrase_length}")
    widened = torch.minimum(lengths, -(-2 * lengths // (segments + 1)))
    limits = lengths.clamp(max=max_phrase_length)
    return torch.where(segments * limits < lengths, widened, limits)


def largest_scores(scores: Tensor, counts: Tensor) -> Tensor:
    """Largest of each sentence's own scores, the first ``counts`` of ``[batch, scores]``.

    Zero where a sentence has none. Refuses NaN and +inf; padding may hold anything.
    """
    scores = scores.detach()
    if scores.shape[1] == 0:
        return torch.zeros(len(scores), dtype=torch.float64, device=scores.device)
    if bool((counts < scores.shape[1]).any()):
        own = torch.arange(scores.shape[1], device=scores.device) < counts[:, None]
        scores = torch.where(own, scores, -torch.inf)
    largest = scores.amax(1)
    for sentence in _indices(~(largest < torch.inf)):  # NaN wins a maximum
        place = int(scores[sentence].argmax())
        raise ValueError(
            f"sentence {sentence}: score {place} of its {counts[sentence]} is "
            f"{scores[sentence, place]:+}; scores must be finite, or -inf to forbid a split"
        )
    return largest.double().masked_fill(largest == -torch.inf, 0.0)


def check_possible(log_partition: Tensor, sizes: Sizes) -> None:
    """Refuse a sentence for which no tree or segmentation is left."""
    for sentence in _indices(log_partition.detach() == -torch.inf):
        raise ValueError(
            f"sentence {sentence}: every way to cut its {sizes.lengths[sentence]} tokens into "
            f"{sizes.segments[sentence]} segments of at most {sizes.limits[sentence]} tokens "
            "uses a forbidden split (score -inf)"
        )


def _indices(mask: Tensor) -> list[int]:
    places: list[int] = mask.nonzero().flatten().tolist()
    return places
