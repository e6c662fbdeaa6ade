"""The sum over target segmentations, for sampled trees.

For every source phrase of the trees, the decoder runs from every place in the target where a phrase
may start. The prefixes give the probability of every stretch of the target as its translation.
Phrases in target order then form a chain, over which sums and samples are exact. A source phrase is
decoded once for all trees of the sentence that contain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.grammar import LeafCRF, SegmentationBatch, splits
from btg_seq2seq.grammar.descent import Chooser
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq

_DECODED_TOKENS = 2**15  # in one call, with rows of similar length


@dataclass(frozen=True)
class Leaves:
    """The leaves of trees in target order, one tree per row."""

    sentences: Tensor  # [rows]: rank of the sentence pair
    phrases: Tensor  # [rows, phrases, 2]: source spans
    segments: Tensor  # [rows]: number of phrases; the rest is padding
    limits: Tensor  # [rows]: longest target phrases


@dataclass(frozen=True)
class SegmentationSum:
    """``log sum over segmentations of p(y | x, tree)`` of one tree per row, and samples."""

    # [rows, phrases, target + 1, target + 1]: log p(y[a:c] | phrase) of units, no gradient
    scores: Tensor
    totals: Tensor  # [rows, phrases + 1, target + 1]: log weight of y[:c] as the first m phrases
    segments: Tensor  # [rows]
    lengths: Tensor  # [rows]: units of the target

    @classmethod
    def of(
        cls,
        model: BTGSeq2Seq,
        pair: Pair,
        leaves: Leaves,
        boundaries: Tensor,
    ) -> SegmentationSum:
        """Compute the sums for trees of the sentences of ``pair``.

        ``boundaries``, ``[batch, target + 1]``, marks where phrases may meet in each target.
        """
        lengths = pair.target.units[leaves.sentences]
        scores = _scores(model, pair, leaves, boundaries)
        fenceposts = torch.arange(scores.shape[-1], device=scores.device)
        too_long = fenceposts - fenceposts[:, None] > leaves.limits[:, None, None]
        scores = scores.masked_fill(too_long[:, None], -torch.inf)
        totals = [torch.full_like(scores[:, 0, 0], -torch.inf)]
        totals[0][:, 0] = 0.0
        for phrase in range(scores.shape[1]):
            totals.append((totals[-1][:, :, None] + scores[:, phrase]).logsumexp(1))
        return cls(scores, torch.stack(totals, 1), leaves.segments, lengths)

    @property
    def log_sum(self) -> Tensor:
        """The sum of each tree, ``[rows]``."""
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        return self.totals[rows, self.segments, self.lengths]

    def sample(self, uniforms: Tensor) -> SegmentationBatch:
        """Draw one segmentation per row; ``uniforms`` are ``[rows, phrases]``."""
        return self._descend(self.totals, list(map(Chooser, uniforms[..., None].unbind(1))))

    @property
    def argmax(self) -> SegmentationBatch:
        """The most probable segmentation of each row."""
        most = [self.totals[:, 0]]
        for phrase in range(self.scores.shape[1]):
            most.append((most[-1][:, :, None] + self.scores[:, phrase]).amax(1))
        return self._descend(torch.stack(most, 1), [Chooser()] * self.scores.shape[1])

    def _descend(self, totals: Tensor, choosers: Sequence[Chooser]) -> SegmentationBatch:
        most = self.scores.shape[1]
        rows = torch.arange(len(self.lengths), device=self.lengths.device)
        fenceposts = self.lengths[:, None].repeat(1, most + 1)
        stop = self.lengths
        for phrase in reversed(range(most)):
            ways = totals[rows, phrase] + self.scores[rows, phrase, :, stop]
            own = phrase < self.segments
            stop = torch.where(own, choosers[phrase](ways), stop)
            fenceposts[:, phrase] = torch.where(own, stop, fenceposts[:, phrase])
        return SegmentationBatch(fenceposts, self.segments)


def likely_boundaries(leaves: LeafCRF, nearby: LeafCRF, chosen: SegmentationBatch) -> Tensor:
    """Compute how likely phrases meet at each fencepost of the target, ``[rows, target + 1]``.

    The larger probability of two parsers. It is 1 for the boundaries of ``chosen``, so that every
    tree keeps a segmentation.
    """
    likely = torch.maximum(_boundary_probabilities(leaves), _boundary_probabilities(nearby))
    return likely.scatter(1, chosen.fenceposts, 1.0)


def _boundary_probabilities(leaves: LeafCRF) -> Tensor:
    longest = leaves.sizes.longest
    middles = splits(longest)[:, 1].to(leaves.marginals.device).expand_as(leaves.marginals)
    return leaves.marginals.new_zeros(len(leaves.trees), longest + 1).scatter_add(
        1, middles, leaves.marginals
    )


@torch.no_grad()
def _scores(model: BTGSeq2Seq, pair: Pair, leaves: Leaves, boundaries: Tensor) -> Tensor:
    """``[rows, phrases, target + 1, target + 1]``; each distinct phrase is translated once."""
    phrases, segments = leaves.phrases, leaves.segments
    place = torch.arange(phrases.shape[1], device=phrases.device)
    is_phrase = place < segments[:, None]
    keys = torch.cat([leaves.sentences[:, None, None].expand(*phrases.shape[:2], 1), phrases], 2)
    distinct, inverse = torch.unique(keys[is_phrase], dim=0, return_inverse=True)
    inner = boundaries[distinct[:, 0]].clone()
    last = pair.target.units[distinct[:, 0]]
    inner[:, 0] = False
    inner.scatter_(1, last[:, None], False)  # [distinct, target + 1]

    def ever(condition: Tensor) -> Tensor:
        """Reduce a condition on phrases of trees to distinct phrases, ``[distinct, 1]``."""
        result = torch.zeros(len(distinct), 1, dtype=torch.bool, device=inner.device)
        result[inverse[condition[is_phrase]]] = True
        return result

    fenceposts = torch.arange(inner.shape[1], device=inner.device)
    is_first, is_last = place == 0, place == segments[:, None] - 1
    starts = inner & ever(~is_first.expand_as(is_last))
    starts |= (fenceposts == 0) & ever(is_first.expand_as(is_last))
    # A phrase ends at the last inner boundary at most, unless it is the last one.
    stops = torch.where(inner, fenceposts, 0).amax(1)
    stops = torch.where(ever(is_last)[:, 0], last, stops)
    widest = torch.zeros_like(stops).scatter_reduce(
        0, inverse, leaves.limits[:, None].expand_as(is_phrase)[is_phrase], "amax"
    )
    table = _stretches(model, pair, distinct, starts, stops, widest)
    table = table.masked_fill(~(inner | (fenceposts == last[:, None]))[:, None], -torch.inf)
    scores = table.new_full((*is_phrase.shape, *table.shape[1:]), -torch.inf)
    scores[is_phrase] = table[inverse]
    return scores


def _stretches(
    model: BTGSeq2Seq, pair: Pair, phrases: Tensor, begins: Tensor, ends: Tensor, widest: Tensor
) -> Tensor:
    """Log-probability of stretches of the target as translations of each source phrase.

    ``[phrases, target + 1, target + 1]``. A stretch begins where ``begins``, ``[phrases, target +
    1]``, is true, ends at ``ends`` at the latest and has at most ``widest`` units, ``[phrases]``.
    ``phrases`` are sentence, start and stop.
    """
    target, (sentence, start, stop) = pair.target, phrases.unbind(1)
    longest = target.tokens.shape[1]
    states, mask = model.phrase_states(pair, sentence, start, stop)
    fenceposts = torch.arange(target.posts.shape[1], device=start.device)
    row, begin = (begins & (fenceposts < ends[:, None])).nonzero().unbind(1)
    end = torch.minimum(ends[row], begin + widest[row])
    first_token = target.posts[sentence[row], begin]
    width, order = (target.posts[sentence[row], end] - first_token).sort()  # in tokens
    row, begin, end, first_token = row[order], begin[order], end[order], first_token[order]
    table = states.new_full(
        (len(sentence), len(fenceposts), len(fenceposts)),
        -torch.inf,
        dtype=torch.promote_types(states.dtype, torch.float32),
    )
    first = 0
    while first < len(row):
        # As many rows as the budget allows at the width of the longest of them.
        cost = (width[first:] + 1) * torch.arange(1, len(row) - first + 1, device=row.device)
        last = first + max(1, int((cost <= _DECODED_TOKENS).sum()))
        chosen = slice(first, last)
        tokens = target.tokens[sentence[row[chosen]]]
        written = first_token[chosen, None] + torch.arange(int(width[last - 1]), device=row.device)
        tokens = tokens.gather(1, written.clamp(max=longest - 1))  # [rows, width]
        sums = model.prefix_log_probs(tokens, states[row[chosen]], mask[row[chosen]])
        # A stretch of units ends with the last token of the last unit.
        inside = (fenceposts > begin[chosen, None]) & (fenceposts <= end[chosen, None])
        rows, stops = inside.nonzero().unbind(1)
        steps = target.posts[sentence[row[chosen][rows]], stops] - first_token[chosen][rows] - 1
        table[row[chosen][rows], begin[chosen][rows], stops] = sums[rows, steps]
        first = last
    return table
