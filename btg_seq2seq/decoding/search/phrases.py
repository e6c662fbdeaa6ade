"""Beam search over many short rows: the results of ``beam_search`` in less time.

Hugging Face searches all rows of a batch until the last one is done, but phrases are done at very
different times. Here, finished rows are dropped. And a row is expanded to a beam only after its
first token, so the source is projected once per row and not once per beam.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from btg_seq2seq.decoding.search.beams import Beams, Level
from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.model.decoding_settings import DecodingSettings


@torch.no_grad()
def phrase_search(
    backbone: Backbone,
    level: Level,
    states: Tensor,
    mask: Tensor,
    limits: Tensor,
    settings: DecodingSettings,
) -> Beams:
    """Find the best ``beam_size`` strings of each row; arguments as for ``beam_search``."""
    limits = limits.clamp(max=level.longest(backbone, int(limits.max())))
    ended = _Ended(len(states), settings.beam_size, int(limits.max()) + 1, level.end, limits)
    cache, mask = EncoderDecoderCache(DynamicCache(), DynamicCache()), mask.long()
    banned = limits.new_tensor(level.banned)
    rows = torch.arange(len(states), device=states.device)  # still searched, [rows]
    sums = states.new_zeros(len(rows), 1, dtype=torch.double)  # log-probability, [rows, beam]
    strings = limits.new_empty(len(rows), 1, 0)  # [rows, beam, length]
    tokens = limits.new_tensor(level.prompt).expand(len(rows), -1)
    for length in range(int(limits.max()) + 1):
        output = backbone.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),  # type: ignore[arg-type]
            attention_mask=mask,
            decoder_input_ids=tokens,
            past_key_values=cache,
            use_cache=True,
        )
        beam = sums.shape[1]
        log_probs = output.logits[:, -1].float().log_softmax(-1)  # [rows beam, vocabulary]
        level.forbid(log_probs, banned, length, limits[rows].repeat_interleave(beam))
        # Enough continuations for each beam, even if half of them end here.
        best, names = log_probs.topk(min(2 * settings.beam_size, log_probs.shape[1]))
        del output, log_probs  # free the memory before the next step
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
        places = (left[:, None] * beam + parents).flatten()  # rows of the caches
        if len(left) < len(rows) or beam < sums.shape[1]:
            states, mask = states[places], mask[places]
            cache.cross_attention_cache.reorder_cache(places)
        cache.self_attention_cache.reorder_cache(places)
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
