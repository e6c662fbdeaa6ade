"""Scores of all splits of a sentence from features of its fenceposts: the ``f`` of the paper's pi.

Span features are differences of fencepost features, so the first layer of ``f`` is a sum of one
term for each fencepost, and the score of split ``(i, j, k)`` is

    sum_d output[d] ReLU(left[i, d] + middle[j, d] + right[k, d])

without a bias: with n leaves every tree has n - 1 splits, so that a constant cancels in a CRF.
There are O(length^3) splits: both paths compute their hidden units twice rather than keep them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

from btg_seq2seq.grammar.kernels import Kernels, use_fast
from btg_seq2seq.grammar.packing import split_count, split_counts, splits


def split_scores(
    left: Tensor,
    middle: Tensor,
    right: Tensor,
    output: Tensor,
    lengths: Tensor | Sequence[int] | None = None,
    kernels: Kernels = "auto",
) -> Tensor:
    """Scores ``[batch, splits, outputs]`` in packed order, differentiable in all four tensors.

    float32 whatever autocast says, or float64 for float64 features: bfloat16 would cost 1.6e-2.

    Args:
        left: ``[batch, fenceposts, width]`` terms of the fenceposts as starts of a span.
        middle: the same as the place where it is split.
        right: the same as its stop.
        output: ``[outputs, width]``, one or two outputs.
        lengths: ``[batch]`` numbers of tokens, one less than fenceposts. Scores behind a sentence's
            own are 0; features behind its last fencepost may be anything and get gradient 0.
        kernels: ``"fast"``, ``"portable"``, or ``"auto"`` to choose by device and type.
    """
    _check_shapes(left, middle, right, output)
    batch, longest = left.shape[0], left.shape[1] - 1
    if lengths is None:
        lengths = torch.full((batch,), longest, device=left.device)
    else:
        lengths = check_lengths(lengths, batch, longest, left.device)
    dtype = torch.float32
    for tensor in (left, middle, right, output):
        dtype = torch.promote_types(dtype, tensor.dtype)
    left, middle, right, output = (tensor.to(dtype) for tensor in (left, middle, right, output))
    if use_fast(left, kernels):
        return _fast(left, middle, right, output, lengths)
    with torch.autocast(left.device.type, enabled=False):
        return _portable(left, middle, right, output, lengths)


def check_lengths(
    lengths: Tensor | Sequence[int], batch: int, longest: int, device: torch.device
) -> Tensor:
    """``lengths`` as a tensor; ``ValueError`` unless each sentence has one in ``1..longest``."""
    lengths = torch.as_tensor(lengths, device=device)
    if lengths.shape != (batch,) or lengths.is_floating_point():
        raise ValueError(
            f"lengths must be {batch} integers, one per sentence, not {lengths.dtype} of shape "
            f"{tuple(lengths.shape)}"
        )
    wrong = (lengths < 1) | (lengths > longest)
    for sentence in wrong.nonzero().flatten().tolist():
        raise ValueError(
            f"sentence {sentence}: length {lengths[sentence]} is not between 1 and {longest}, the "
            "number of tokens there are features for"
        )
    return lengths.long()


def _check_shapes(left: Tensor, middle: Tensor, right: Tensor, output: Tensor) -> None:
    if left.dim() != 3 or len(left) < 1 or left.shape[1] < 2 or left.shape[2] < 1:
        raise ValueError(
            "left must be [batch, fenceposts, width] with one sentence and two fenceposts or "
            f"more, not {tuple(left.shape)}"
        )
    for name, tensor in (("middle", middle), ("right", right)):
        if tensor.shape != left.shape:
            raise ValueError(
                f"{name} must have the shape of left, {tuple(left.shape)}, not "
                f"{tuple(tensor.shape)}"
            )
    if output.dim() != 2 or output.shape[0] not in (1, 2) or output.shape[1] != left.shape[2]:
        raise ValueError(
            f"output must be [1 or 2, {left.shape[2]}] for features of that width, not "
            f"{tuple(output.shape)}"
        )


def _fast(left: Tensor, middle: Tensor, right: Tensor, output: Tensor, lengths: Tensor) -> Tensor:
    from btg_seq2seq.grammar.kernels.scorer_kernels import BLOCK

    tensors = [left, middle, right, output]
    if excess := -left.shape[2] % BLOCK:
        tensors = [pad(tensor, (0, excess)) for tensor in tensors]
    tensors = [tensor.contiguous() for tensor in tensors]
    scores: Tensor = _FusedScores.apply(*tensors, lengths)  # type: ignore[no-untyped-call]
    return scores


class _FusedScores(torch.autograd.Function):
    """The compiled kernels; the backward one computes the hidden units again."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Tensor:
        from btg_seq2seq.grammar.kernels import scorer_kernels
        from btg_seq2seq.grammar.kernels.compiled import over_batch

        ctx.save_for_backward(*tensors)
        *features, output, lengths = tensors
        batch, fenceposts, width = features[0].shape
        count = split_count(fenceposts - 1)
        ctx.work = count * width // scorer_kernels.BLOCK
        scores = features[0].new_zeros(batch, count * len(output))
        arguments = (lengths.numpy(), _arrays(features), _arrays(output), scores.numpy())
        over_batch(scorer_kernels.forward, batch, ctx.work, *arguments)
        return scores.view(batch, count, len(output))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        from btg_seq2seq.grammar.kernels import scorer_kernels
        from btg_seq2seq.grammar.kernels.compiled import over_batch

        *features, output, lengths = ctx.saved_tensors
        of_features = [torch.zeros_like(tensor) for tensor in features]
        of_output = output.new_zeros(len(gradient), *output.shape)
        over_batch(
            scorer_kernels.backward,
            len(gradient),
            2 * ctx.work,
            lengths.numpy(),
            _arrays(features),
            _arrays(output),
            gradient.contiguous().flatten(1).numpy(),
            _arrays(of_features),
            of_output.numpy(),
        )
        return (*of_features, of_output.sum(0), None)


def _arrays(tensors: Sequence[Tensor] | Tensor) -> tuple[Any, ...]:
    return tuple(tensor.detach().numpy() for tensor in tensors)


def _portable(
    left: Tensor, middle: Tensor, right: Tensor, output: Tensor, lengths: Tensor
) -> Tensor:
    longest = left.shape[1] - 1
    beyond = torch.arange(longest + 1, device=left.device) > lengths[:, None]  # [batch, fenceposts]
    left, middle, right = (
        features.masked_fill(beyond[..., None], 0.0) for features in (left, middle, right)
    )
    # For one j, the i before it and the k behind it are independent: a table without gaps.
    tables = [(left + middle + right)[:, :0] @ output.t()]  # no splits; keeps the graph connected
    for j in range(1, longest):
        inputs = left[:, :j], middle[:, j, None], right[:, j + 1 :], output
        table = checkpoint(_scores_at, *inputs, use_reentrant=False, preserve_rng_state=False)
        tables.append(table)
    scores = torch.cat(tables, 1).index_select(1, _packed_order(longest).to(left.device))
    own = torch.arange(scores.shape[1], device=left.device) < split_counts(lengths)[:, None]
    return scores.masked_fill(~own[..., None], 0.0)


def _scores_at(left: Tensor, middle: Tensor, right: Tensor, output: Tensor) -> Tensor:
    """Scores ``[batch, i * k, outputs]`` of the splits at one fencepost ``middle``."""
    hidden = ((left + middle)[:, :, None] + right[:, None]).relu()  # [batch, i, k, width]
    return (hidden @ output.t()).flatten(1, 2)


@cache
@torch.inference_mode(False)  # it may be used with gradients later
def _packed_order(longest: int) -> Tensor:
    """Indices into the tables of j = 1, 2, ..., each ``[i, k]``, of the splits in packed order."""
    start, split, stop = splits(longest).unbind(-1)
    sizes = torch.arange(longest + 1) * (longest - torch.arange(longest + 1))  # of the tables
    return (sizes.cumsum(0) - sizes)[split] + start * (longest - split) + stop - split - 1
