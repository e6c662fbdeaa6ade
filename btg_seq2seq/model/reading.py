"""The passes of the model over a batch of sentence pairs: their states and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from transformers.utils.generic import ModelOutput

from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.text.batches import IGNORED


@dataclass(frozen=True)
class Side:
    """One language of a batch: its tokens, without those that frame a sentence."""

    tokens: Tensor  # [batch, longest]; padding at the end
    lengths: Tensor  # [batch]

    def __getitem__(self, sentences: Tensor) -> Side:
        lengths = self.lengths[sentences]
        return Side(self.tokens[sentences, : int(lengths.max())], lengths)


@dataclass(frozen=True)
class Pair:
    """States and scores of both passes, for sentence pairs short enough for the grammar."""

    source: Side
    target: Side
    states: Tensor  # [batch, source, hidden]: the encoder's, from the source's first token on
    prior_scores: Tensor  # [batch, source splits, 2]
    posterior_scores: Tensor  # [batch, source splits, 2]
    leaf_scores: Tensor  # [batch, target splits]

    def repeat(self, times: int) -> Pair:
        """Each sentence pair ``times`` times in a row, without the scores of trees."""
        rows = torch.arange(len(self.states), device=self.states.device)
        none = self.prior_scores[:, :0]
        return replace(self, prior_scores=none, posterior_scores=none)[
            rows.repeat_interleave(times)
        ]

    def __getitem__(self, rows: Tensor) -> Pair:
        return Pair(
            Side(self.source.tokens[rows], self.source.lengths[rows]),
            Side(self.target.tokens[rows], self.target.lengths[rows]),
            self.states[rows],
            self.prior_scores[rows],
            self.posterior_scores[rows],
            self.leaf_scores[rows],
        )


@dataclass(frozen=True)
class Reading:
    """A batch as the model reads it."""

    backbone: Backbone
    decoded: Tensor  # [batch, target, hidden]: the decoder's states
    labels: Tensor  # [batch, target]
    rows: Tensor  # [grammatical]: sentences short enough for the grammar
    pair: Pair | None  # of those sentences; None where there are none

    @cached_property
    def flat_log_prob(self) -> Tensor:
        """``log p(y | x)``, sentence by sentence, ``[batch]``."""
        return self.backbone.token_log_probs(self.decoded, self.labels).sum(1)

    @property
    def target_tokens(self) -> Tensor:
        """Predictions a sentence, its end included, ``[batch]``."""
        return (self.labels != IGNORED).sum(1)


@dataclass
class BTGSeq2SeqOutput(ModelOutput):
    """The loss of a batch and, by name, the terms it is made of."""

    loss: Tensor | None = None
    terms: dict[str, Tensor] | None = None
