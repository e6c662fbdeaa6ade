"""Sentences and phrases as the decoder tells them apart: start, end and banned tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.model.backbone import Backbone


@dataclass(frozen=True)
class Level:
    """Start, end and banned tokens of hypotheses: whole sentences or phrases."""

    prompt: tuple[int, ...]
    end: int
    banned: tuple[int, ...]
    may_be_empty: bool

    @classmethod
    def sentence(cls, backbone: Backbone) -> Level:
        """Make the level of whole sentences: no segment tokens."""
        banned = {backbone.pad}
        if backbone.has_segment_tokens:
            banned |= {backbone.segment_start, backbone.segment_end}
        return cls(backbone.sentence_prompt(), backbone.sentence_end, tuple(sorted(banned)), True)

    @classmethod
    def phrase(cls, backbone: Backbone) -> Level:
        """Make the level of phrases: no start or end of a sentence, and never empty."""
        banned = {backbone.pad, backbone.sentence_end, backbone.segment_start}
        banned |= {*backbone.sentence_prompt(), *backbone.phrase_prompt()}
        banned |= {*backbone.phrase_prompt(reverse=True)}
        return cls(backbone.phrase_prompt(), backbone.segment_end, tuple(sorted(banned)), False)

    def longest(self, backbone: Backbone, limit: int) -> int:
        """Return the most tokens of a hypothesis: the limit, or the positions of the model."""
        positions = backbone.family.longest(backbone.model.config)
        return limit if positions is None else min(limit, positions - len(self.prompt))

    def forbid(self, log_probs: Tensor, banned: Tensor, length: int, limits: Tensor) -> None:
        """Forbid, in place, tokens that cannot follow ``length`` tokens: ``[rows, vocabulary]``.

        ``banned`` are the level's banned tokens as a tensor; ``limits``, ``[rows]``, the lengths at
        which hypotheses must end.
        """
        ending = log_probs[:, self.end].clone()
        log_probs[:, banned] = -torch.inf
        log_probs.masked_fill_((length >= limits)[:, None], -torch.inf)
        if length == 0 and not self.may_be_empty:
            ending.fill_(-torch.inf)
        log_probs[:, self.end] = ending
