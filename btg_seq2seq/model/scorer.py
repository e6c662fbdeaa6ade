"""From the states of a Transformer to the scores of all splits: the paper's MLP over span features.

Appendix D of the paper, with its first layer factored over fenceposts (see ``split_scores``). One
scorer each serves the prior, the posterior and the leaf CRF.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from btg_seq2seq.grammar.split_scores import check_lengths, split_scores

# Standard deviation of a new scorer's scores over the splits of a sentence. A tree of n leaves adds
# up n - 1 of them, so that trees start near uniform, but not so near that gradients vanish.
INITIAL_SCORE_DEVIATION = 0.1
# Of the ReLU of a standard normal: sqrt((1 - 1 / pi) / 2).
RELU_DEVIATION = math.sqrt((1 - 1 / math.pi) / 2)


class SplitScorer(nn.Module):
    """Scores ``f(h_ij, h_jk)`` of every split ``(i, j, k)`` of units, from the states of tokens.

    A fencepost has the first half of the state of the token before it and the second half of the
    state of the token behind it (Kitaev and Klein, 2018); at the ends of the sentence a learned
    vector stands in. Three matrices take fencepost features to hidden units, one for each of i, j
    and k. The paper's difference features are the case in which the three add up to zero.

    States are normalised first: their scale differs by orders of magnitude between backbones, and
    from large ones a new scorer would make confident trees of noise. The norm has no weights of its
    own, for the matrices would absorb them. Dropout falls on fencepost features, because hidden
    units are never written down.

    Args:
        hidden_size: size of the states.
        outputs: 2 for a tree CRF (straight, inverted), 1 for a leaf CRF.
        width: number of hidden units; best a multiple of 16.
    """

    def __init__(self, hidden_size: int, outputs: int, width: int = 128) -> None:
        super().__init__()
        if hidden_size < 2 or outputs not in (1, 2) or width < 1:
            raise ValueError(
                "a scorer needs a hidden size of 2 or more, 1 or 2 outputs and a positive width, "
                f"not {hidden_size}, {outputs} and {width}"
            )
        self.hidden_size = hidden_size
        half = hidden_size // 2
        self.before = nn.Parameter(torch.empty(half))
        self.behind = nn.Parameter(torch.empty(hidden_size - half))
        self.projection = nn.Linear(hidden_size, 3 * width, bias=False)
        self.bias = nn.Parameter(torch.empty(width))
        self.output = nn.Parameter(torch.empty(outputs, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights with which trees are nearly uniform."""
        nn.init.normal_(self.before)  # the scale of a normalised state
        nn.init.normal_(self.behind)
        # Each of three terms has variance 1/3, so that a hidden unit's input is standard normal.
        nn.init.normal_(self.projection.weight, std=1 / math.sqrt(3 * self.hidden_size))
        nn.init.zeros_(self.bias)
        deviation = INITIAL_SCORE_DEVIATION / RELU_DEVIATION
        nn.init.normal_(self.output, std=deviation / math.sqrt(self.output.shape[1]))

    def forward(
        self,
        states: Tensor,
        lengths: Tensor | Sequence[int],
        posts: Tensor | None = None,
    ) -> Tensor:
        """Scores ``[batch, splits(most units), outputs]`` in float32, whatever autocast says.

        Args:
            states: ``[batch, tokens, hidden]`` of any float type. Positions behind a sentence's
                length (end of sentence, padding) are not read and may hold anything.
            lengths: ``[batch]`` numbers of tokens to score, 1 or more.
            posts: ``[batch, most units + 1]``, the tokens at which units meet, as ``Side`` has
                them; without it, every token is a unit.
        """
        if states.dim() != 3 or states.shape[2] != self.hidden_size:
            raise ValueError(
                f"states must be [batch, tokens, {self.hidden_size}], not {tuple(states.shape)}"
            )
        batch, tokens, _ = states.shape
        lengths = check_lengths(lengths, batch, tokens, states.device)
        dtype = torch.promote_types(self.output.dtype, torch.float32)
        with torch.autocast(states.device.type, enabled=False):
            features = self._fencepost_features(states.to(dtype), lengths)
            if posts is not None:
                lengths = (posts < lengths[:, None]).sum(1)  # [batch], in units
                features = features.gather(1, posts[..., None].expand(-1, -1, self.hidden_size))
            terms = functional.linear(features, self.projection.weight.to(dtype))
            left, middle, right = terms.chunk(3, dim=-1)  # each [batch, fenceposts, width]
            return split_scores(left, middle + self.bias, right, self.output, lengths)

    def _fencepost_features(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Normalised features ``[batch, longest length + 1, hidden]``."""
        tokens = torch.arange(int(lengths.max()), device=states.device)
        padding = (tokens >= lengths[:, None])[..., None]  # [batch, longest, 1]
        # Zeros before anything is computed, else a NaN in padding would come back as a gradient.
        states = states[:, : len(tokens)].masked_fill(padding, 0.0)
        states = functional.layer_norm(states, (self.hidden_size,))
        half = self.hidden_size // 2
        before, behind = self.before.to(states.dtype), self.behind.to(states.dtype)
        forward = torch.cat([before.expand(len(states), 1, -1), states[..., :half]], 1)
        backward = torch.where(padding, behind, states[..., half:])
        backward = torch.cat([backward, behind.expand(len(states), 1, -1)], 1)
        return torch.cat([forward, backward], -1)
