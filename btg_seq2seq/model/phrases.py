"""Phrase pairs as the seq2seq model reads them: many phrases in one row, each blind to the others.

A sentence's phrases are laid out one after the other, each behind a segment start token, and masks
keep them apart. With relative positions a phrase in such a row is scored exactly as it would be in
a row of its own, at the cost of one decoder pass over the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.grammar import SegmentationBatch, TreeBatch
from btg_seq2seq.model.reading import Side
from btg_seq2seq.text.batches import IGNORED


@dataclass(frozen=True)
class PhrasePairs:
    """Aligned phrases of a batch, in the order of the side that is generated.

    ``fenceposts`` cut the generated side; phrase r of it translates the span ``others[:, r]`` of
    the other side. Both count units, until ``in_tokens`` turns them into positions of tokens.
    """

    fenceposts: Tensor  # [batch, phrases + 1]
    others: Tensor  # [batch, phrases, 2]
    segments: Tensor  # [batch]

    @classmethod
    def forward(cls, trees: TreeBatch, segmentations: SegmentationBatch) -> PhrasePairs:
        """Target phrases from source phrases."""
        return cls(segmentations.fenceposts, trees.phrases, trees.segments)

    def __getitem__(self, rows: Tensor) -> PhrasePairs:
        return PhrasePairs(self.fenceposts[rows], self.others[rows], self.segments[rows])

    def in_tokens(self, written: Side, read: Side) -> PhrasePairs:
        """The same phrases as positions of tokens, of the generated side and of the other one."""
        fenceposts, others = written.positions(self.fenceposts), read.positions(self.others)
        return PhrasePairs(fenceposts, others, self.segments)

    def reverse(self) -> PhrasePairs:
        """Source phrases from target phrases: the same pairs, seen from the other side."""
        starts, stops = self.others.unbind(-1)  # [batch, phrases]
        is_phrase = stops > starts
        order = torch.where(is_phrase, starts, torch.iinfo(starts.dtype).max).argsort(dim=1)
        ends = stops.gather(1, order)
        # Padding stays at the last fencepost.
        ends = torch.where(is_phrase.gather(1, order), ends, stops.amax(1, keepdim=True))
        own = torch.stack([self.fenceposts[:, :-1], self.fenceposts[:, 1:]], -1)
        others = own.gather(1, order[..., None].expand(-1, -1, 2))
        fenceposts = torch.cat([torch.zeros_like(ends[:, :1]), ends], 1)
        return PhrasePairs(fenceposts, others, self.segments)


@dataclass(frozen=True)
class PhraseRow:
    """Phrases of each sentence in one decoder row."""

    inputs: Tensor  # [batch, row]: segment start, then the phrase's tokens
    labels: Tensor  # [batch, row]: the phrase's tokens, then segment end; -100 in the padding
    rank: Tensor  # [batch, row]: which phrase a position belongs to
    self_mask: Tensor  # [batch, row, row] bool: earlier positions of the same phrase
    cross_mask: Tensor  # [batch, row, others] bool: the span that the phrase translates

    @classmethod
    def pack(
        cls,
        tokens: Tensor,
        pairs: PhrasePairs,
        other_length: int,
        segment_start: int,
        segment_end: int,
        pad: int,
    ) -> PhraseRow:
        """Lay out the phrases of ``tokens``, ``[batch, length]``, as ``pairs`` cut them."""
        batch, phrases = pairs.others.shape[:2]
        device = tokens.device
        ranks = torch.arange(phrases, device=device)
        lengths = pairs.fenceposts.gather(1, pairs.segments[:, None])[:, 0]
        widths = lengths + pairs.segments  # each phrase has one more position than tokens
        position = torch.arange(int(widths.max()), device=device).expand(batch, -1)
        # Phrase r begins at position fencepost r + r of the row.
        begins = pairs.fenceposts[:, 1:-1] + ranks[1:]
        begins = torch.where(
            ranks[1:] < pairs.segments[:, None], begins, torch.iinfo(torch.long).max
        )
        rank = torch.searchsorted(begins.contiguous(), position.contiguous(), right=True)
        begin = pairs.fenceposts.gather(1, rank) + rank
        end = pairs.fenceposts.gather(1, rank + 1) + rank  # position of the segment end
        is_used = position < widths[:, None]
        token, last = position - rank, tokens.shape[1] - 1
        following = tokens.gather(1, token.clamp(max=last))
        preceding = tokens.gather(1, (token - 1).clamp(min=0, max=last))
        inputs = torch.where(position == begin, segment_start, preceding)
        labels = torch.where(position == end, segment_end, following)
        same = rank[:, :, None] == rank[:, None, :]
        earlier = position[0][:, None] >= position[0]
        start, stop = pairs.others.gather(1, rank[..., None].expand(-1, -1, 2)).unbind(-1)
        other = torch.arange(other_length, device=device)
        return cls(
            inputs=torch.where(is_used, inputs, pad),
            labels=torch.where(is_used, labels, IGNORED),
            rank=rank,
            self_mask=same & earlier,
            cross_mask=(other >= start[..., None]) & (other < stop[..., None]),
        )

    def sum_by_phrase(self, log_probs: Tensor, phrases: int) -> Tensor:
        """From ``[batch, row]`` to ``[batch, phrases]``."""
        return log_probs.new_zeros(len(log_probs), phrases).scatter_add(1, self.rank, log_probs)


def last_tokens(spans: Tensor, length: int) -> Tensor:
    """Mask of the last token of each phrase, ``[batch, length]``, from ``[batch, phrases, 2]``."""
    starts, stops = spans.unbind(-1)
    position = torch.arange(length, device=spans.device)
    is_last = (position == stops[..., None] - 1) & (stops > starts)[..., None]
    return is_last.any(1)


def own_phrase_mask(spans: Tensor, length: int) -> Tensor:
    """Mask of the pairs of tokens in one phrase, ``[batch, length, length]`` bool.

    ``spans`` are ``[batch, phrases, 2]``. A token outside of all phrases sees itself alone.
    """
    position = torch.arange(length, device=spans.device)
    member = (position >= spans[..., :1]) & (position < spans[..., 1:])  # [batch, phrases, length]
    together = member.transpose(1, 2).float() @ member.float() > 0
    return together | torch.eye(length, dtype=torch.bool, device=spans.device)
