"""Proposals of trees near those of the posterior: boundaries moved, some nodes inverted.

A sampled tree is often right except for one boundary, and the posterior may already have ruled the
right boundary out. Worse, the posterior settles on an orientation early, when phrases mean little
yet, and may never see the other one again. The proposals here spread each split's marginal
probability over nearby splits and both orientations. The result is again a CRF, so samples and
their exact densities come from the dynamic programs.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from btg_seq2seq.grammar import LeafCRF, TreeBatch, TreeCRF, splits
from btg_seq2seq.grammar.packing import split_count

# Share of a boundary's probability at a distance of 0, 1 and 2 units, on either side.
_SHARES = (0.4, 0.2, 0.1)
_FLOOR = 1e-4
FARTHEST = 3  # most units by which a single boundary is moved
_CELLS = 2**24  # most cells of cubes of fenceposts in memory at a time


def moved_trees(crf: TreeCRF, turned: float = 0.0, limit: int | None = None) -> TreeCRF:
    """Build a proposal near a tree CRF with this phrase length limit; without gradients.

    ``turned`` is the share of a split's probability that goes to its other orientation.
    """
    marginals = _spread(crf.marginals)
    scores = torch.lerp(marginals, marginals.flip(-1), turned).add(_FLOOR).log()
    return TreeCRF(scores, crf.sizes.lengths, crf.sizes.segments, limit)


def one_boundary_moved(trees: TreeBatch, move: Tensor, limits: Tensor) -> TreeBatch:
    """Move one source boundary of each tree by up to three units.

    ``move``, ``[batch]``, selects the boundary and the distance: six numbers in a row move the same
    boundary in six ways. A tree is unchanged if a phrase would become empty, or longer than
    ``limits``, ``[batch]``.
    """
    if not trees.splits.shape[1]:  # only trees of one leaf
        return trees
    nodes = (trees.segments - 1).clamp(min=1)
    way, by = move // (2 * FARTHEST), move % (2 * FARTHEST) - FARTHEST
    node = (way % nodes)[:, None, None]  # every node splits at a different boundary
    old = trees.splits[..., 1:2].gather(1, node)  # [batch, 1, 1]
    new = old + torch.where(by < 0, by, by + 1)[:, None, None]
    is_node = trees.is_node[..., None]
    before = torch.where(is_node & (trees.splits < old), trees.splits, 0).amax((1, 2))
    ends = trees.lengths[:, None, None]
    behind = torch.where(is_node & (trees.splits > old), trees.splits, ends).amin((1, 2))
    first, second = new[:, 0, 0] - before, behind - new[:, 0, 0]
    possible = (first > 0) & (second > 0) & (trees.segments > 1)
    possible &= torch.maximum(first, second) <= limits
    moved = torch.where((trees.splits == old) & is_node, new, trees.splits)
    return replace(trees, splits=torch.where(possible[:, None, None], moved, trees.splits))


def moved_leaves(crf: LeafCRF, count: int = 1, limit: int | None = None) -> LeafCRF:
    """Build a proposal near a leaf CRF, along the same trees; without gradients.

    The marginals of every ``count`` rows, which are trees of one sentence, are averaged.
    """
    shape = (len(crf.trees) // count, count, crf.marginals.shape[1])
    marginals = crf.marginals.view(shape).mean(1)
    scores = _spread(marginals[..., None]).add(_FLOOR).log()[..., 0]
    return LeafCRF(scores.repeat_interleave(count, 0), crf.sizes.lengths, crf.trees, limit)


def _spread(marginals: Tensor) -> Tensor:
    """Spread ``[batch, splits, outputs]`` over neighbouring fenceposts i, j and k."""
    count = marginals.shape[1]
    length = next(n for n in range(1, count + 3) if split_count(n) == count)
    sentences = max(1, _CELLS // ((length + 1) ** 3 * marginals.shape[2]))
    return torch.cat([_spread_cube(part, length) for part in torch.split(marginals, sentences)])


def _spread_cube(marginals: Tensor, length: int) -> Tensor:
    place = splits(length).to(marginals.device).unbind(-1)
    shape = (len(marginals), length + 1, length + 1, length + 1, marginals.shape[2])
    cube = marginals.new_zeros(shape)
    cube[:, place[0], place[1], place[2]] = marginals
    for axis in (1, 2, 3):
        moved = cube * _SHARES[0]
        for distance, share in enumerate(_SHARES[1:], 1):
            if distance > length:
                break
            near, far = length + 1 - distance, distance
            moved.narrow(axis, far, near).add_(cube.narrow(axis, 0, near), alpha=share)
            moved.narrow(axis, 0, near).add_(cube.narrow(axis, far, near), alpha=share)
        cube = moved
    return cube[:, place[0], place[1], place[2]]
