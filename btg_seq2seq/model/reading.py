"""The passes of the model over a batch of sentence pairs: their states and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from transformers.utils.generic import ModelOutput

from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.text.units import unit_fenceposts, unit_starts


@dataclass(frozen=True)
class Side:
    """One language of a batch: its tokens, without those that frame a sentence, and their units.

    The grammar counts units and the encoder-decoder reads tokens: ``positions`` turns the one into
    the other.
    """

    tokens: Tensor  # [batch, longest]; padding at the end
    lengths: Tensor  # [batch], in tokens
    posts: Tensor  # [batch, most units + 1]: where units meet, in tokens; then the length
    units: Tensor  # [batch]: number of units

    @classmethod
    def of(cls, tokens: Tensor, lengths: Tensor, table: Tensor | None) -> Side:
        """Find the units of tokens; each token is a unit without a table (see ``text.units``)."""
        if table is None:
            posts = torch.arange(tokens.shape[1] + 1, device=tokens.device)
            return cls(tokens, lengths, torch.minimum(posts, lengths[:, None]), lengths)
        return cls(tokens, lengths, *unit_fenceposts(unit_starts(table, tokens), lengths))

    def __getitem__(self, sentences: Tensor) -> Side:
        side = self.rows(sentences)
        tokens = side.tokens[:, : int(side.lengths.max())]
        return replace(side, tokens=tokens, posts=side.posts[:, : int(side.units.max()) + 1])

    def rows(self, rows: Tensor) -> Side:
        """Some sentences, with the padding of all."""
        return Side(self.tokens[rows], self.lengths[rows], self.posts[rows], self.units[rows])

    def positions(self, fenceposts: Tensor) -> Tensor:
        """Turn fenceposts between units, ``[batch, ...]``, into fenceposts between tokens."""
        return self.posts.gather(1, fenceposts.flatten(1)).view_as(fenceposts)


@dataclass(frozen=True)
class Pair:
    """States and scores of both passes, for sentence pairs short enough for the grammar."""

    source: Side
    target: Side
    states: Tensor  # [batch, source, hidden]: the encoder's, from the source's first token on
    prior_scores: Tensor  # [batch, source splits, 2], of units
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
            self.source.rows(rows),
            self.target.rows(rows),
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
