"""Beam search with true probabilities, for sentences and for phrases.

It finds what Hugging Face's ``generate`` finds, in less time: finished rows are dropped, and the
beams of a row share the keys and values of its source (see ``model/shared_sources.py``).

Every row has its own length limit, and every hypothesis an end token. So no hypothesis depends on
the other rows, and every score is the log-probability of a whole string.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from btg_seq2seq.decoding.search.level import Level
from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.shared_sources import SharedSourceCache


@dataclass(frozen=True)
class Beams:
    """The best strings of each row, best first: by probability, or by probability per token."""

    tokens: Tensor  # [rows, beam, longest], without the prompt, followed by end tokens
    lengths: Tensor  # [rows, beam]: tokens before the end
    log_probs: Tensor  # [rows, beam]; minus infinity where there are fewer strings


@torch.no_grad()
def beam_search(
    backbone: Backbone,
    level: Level,
    states: Tensor,
    mask: Tensor,
    limits: Tensor,
    settings: DecodingSettings,
) -> Beams:
    """Find the best ``beam_size`` strings given ``[rows, source, hidden]`` encoder states.

    ``mask``, ``[rows, source]``, marks the states that may be attended to; padding follows them.
    ``limits``, ``[rows]``, are the most tokens of a hypothesis, not counting its end token.
    """
    limits = limits.clamp(max=level.longest(backbone, int(limits.max())))
    ended = _Ended(len(states), settings.beam_size, int(limits.max()) + 1, level.end, limits)
    banned = limits.new_tensor(level.banned)
    cache, mask = SharedSourceCache(), mask.long()
    rows = torch.arange(len(states), device=states.device)  # still searched, [rows]
    sums = states.new_zeros(len(rows), 1, dtype=torch.double)  # log-probability, [rows, beam]
    strings = limits.new_empty(len(rows), 1, 0)  # [rows, beam, length]
    tokens = limits.new_tensor(level.prompt).expand(len(rows), -1)
    for length in range(int(limits.max()) + 1):
        beam = sums.shape[1]
        logits = backbone.next_logits(tokens, states, mask, cache)  # [rows beam, vocabulary]
        log_probs = logits.float().log_softmax(-1)
        level.forbid(log_probs, banned, length, limits[rows].repeat_interleave(beam))
        # Enough continuations for each beam, even if half of them end here.
        best, names = log_probs.topk(min(2 * settings.beam_size, log_probs.shape[1]))
        del logits, log_probs  # free the memory before the next step
        width = best.shape[1]
        totals = (sums[..., None] + best.view(len(rows), beam, width)).flatten(1)
        totals, chosen = totals.topk(min(2 * settings.beam_size, totals.shape[1]))
        tokens = names.view(len(rows), -1).gather(1, chosen)  # [rows, best]
        parents = chosen // width  # [rows, best]
        is_end = tokens == level.end
        scale = length + 1 if settings.length_normalised else 1
        ended.add(rows, _choose(strings, parents), totals.masked_fill(~is_end, -torch.inf) / scale)
        sums, going_on = totals.masked_fill(is_end, -torch.inf).topk(
            min(settings.beam_size, totals.shape[1])
        )
        can_improve = sums[:, 0] / scale > ended.worst[rows]
        left = can_improve.nonzero()[:, 0]
        if not len(left):
            break
        going_on = going_on[left]
        parents, tokens = parents[left].gather(1, going_on), tokens[left].gather(1, going_on)
        strings = torch.cat([_choose(strings[left], parents), tokens[..., None]], 2)
        tokens = tokens.view(-1, 1)
        if len(left) < len(rows):
            longest = int(mask[left].sum(1).max())
            states, mask = states[left, :longest], mask[left, :longest]
            cache.keep_sources(left, longest)
        cache.reorder_beams((left[:, None] * beam + parents).flatten(), parents.shape[1])
        rows, sums = rows[left], sums[left]
    if settings.length_normalised:
        beams = ended.beams
        return replace(beams, log_probs=beams.log_probs * (beams.lengths + 1))
    return ended.beams


class _Ended:
    """The best finished strings of each row."""

    def __init__(self, rows: int, beam: int, longest: int, end: int, like: Tensor) -> None:
        self.beams = Beams(
            like.new_full((rows, beam, longest), end),
            like.new_zeros(rows, beam),
            torch.full((rows, beam), -torch.inf, dtype=torch.double, device=like.device),
        )

    @property
    def worst(self) -> Tensor:
        """Score that a string must exceed to be kept, ``[rows]``."""
        return self.beams.log_probs[:, -1]

    def add(self, rows: Tensor, strings: Tensor, log_probs: Tensor) -> None:
        """Add strings ``[rows, best, length]``; those that have not ended have score -inf.

        As in Hugging Face's search, a string must be among the best of its row, ended or not.
        """
        beams = self.beams
        beam, length = beams.lengths.shape[1], strings.shape[2]
        log_probs, strings = log_probs[:, :beam], strings[:, :beam]
        lengths = torch.full_like(log_probs, length, dtype=torch.long)
        tokens = torch.cat([beams.tokens[rows][..., :length], strings], 1)
        lengths = torch.cat([beams.lengths[rows], lengths], 1)
        log_probs, chosen = torch.cat([beams.log_probs[rows], log_probs], 1).topk(beam)
        beams.tokens[rows, :, :length] = _choose(tokens, chosen)
        beams.lengths[rows] = lengths.gather(1, chosen)
        beams.log_probs[rows] = log_probs


def _choose(strings: Tensor, which: Tensor) -> Tensor:
    """``strings[row, which[row]]`` of ``[rows, strings, length]``."""
    return strings.gather(1, which[..., None].expand(-1, -1, strings.shape[2]))
