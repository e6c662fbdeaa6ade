"""Brute force: every tree and every target segmentation is listed, every quantity is a plain sum.

Follows the definitions to the letter and shares no code with the package: no dynamic
programs. Scores are float64 tensors, so gradients come from autograd through the sums.
"""

import math
from collections import defaultdict
from functools import lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

import torch

LOG_TWO = math.log(2)
LONGEST = 12

# Colexicographic order: compare the last fencepost first.
SPLITS = sorted(combinations(range(LONGEST + 1), 3), key=lambda split: split[::-1])
SPANS = sorted(combinations(range(LONGEST + 1), 2), key=lambda span: span[::-1])
SPLIT_INDEX = {split: index for index, split in enumerate(SPLITS)}
SPAN_INDEX = {span: index for index, span in enumerate(SPANS)}


class Phrase(NamedTuple):
    start: int
    stop: int


class Branch(NamedTuple):
    left: "Phrase | Branch"
    right: "Phrase | Branch"
    inverted: bool


def is_phrase(tree):
    return isinstance(tree, Phrase)


def in_target_order(branch):
    return (branch.right, branch.left) if branch.inverted else (branch.left, branch.right)


def phrases(tree):
    """The leaves in target order."""
    if is_phrase(tree):
        return [tree]
    first, second = in_target_order(tree)
    return phrases(first) + phrases(second)


def count(tree):
    return len(phrases(tree))


def branches(tree):
    """Internal nodes in preorder, the child that is first in target order before the second."""
    if is_phrase(tree):
        return []
    first, second = in_target_order(tree)
    return [tree, *branches(first), *branches(second)]


def split(branch):
    middle = max(stop for _, stop in phrases(branch.left))
    return (min(phrases(branch)).start, middle, max(stop for _, stop in phrases(branch)))


def bracketing(tree):
    """Wu's notation, children in source order: [straight] and <inverted>."""
    if is_phrase(tree):
        return f"{tree.start}:{tree.stop}"
    inside = f"{bracketing(tree.left)} {bracketing(tree.right)}"
    return f"<{inside}>" if tree.inverted else f"[{inside}]"


def is_normal(tree):
    """No child that comes first in target order has its parent's orientation."""
    return all(
        is_phrase(in_target_order(branch)[0])
        or in_target_order(branch)[0].inverted != branch.inverted
        for branch in branches(tree)
    )


def labels(tree, parent=None):
    """Labels that a labelled derivation may give a subtree: 0 straight, 1 inverted.

    A leaf that is second (or the whole tree) takes either, a leaf that is first only the other
    orientation than its parent's.
    """
    if not is_phrase(tree):
        return [int(tree.inverted)]
    if parent is not None and in_target_order(parent)[0] is tree:
        return [1 - int(parent.inverted)]
    return [0, 1]


def log_two_terms(tree):
    """log 2 for each leaf in second place, and for a tree that is one leaf."""
    if is_phrase(tree):
        return LOG_TWO
    return LOG_TWO * sum(is_phrase(in_target_order(branch)[1]) for branch in branches(tree))


def effective_limit(length, segments, max_phrase_length):
    if max_phrase_length is None:
        return length
    if segments * max_phrase_length < length:
        return min(length, math.ceil(2 * length / (segments + 1)))
    return max_phrase_length


def may_be_leaf(start, stop, limit):
    """`limit` is the longest leaf, here and below, or a frozen set of the spans that may be one."""
    return stop - start <= limit if isinstance(limit, int) else (start, stop) in limit


def tilings(start, stop, segments, limit):
    """Fenceposts of every way to cut start..stop into nonempty phrases within `limit`."""
    for cuts in combinations(range(start + 1, stop), segments - 1):
        fenceposts = (start, *cuts, stop)
        if all(may_be_leaf(*phrase, limit) for phrase in pairwise(fenceposts)):
            yield fenceposts


def bracketings(fenceposts):
    """Every binary tree over the phrases, every orientation, in normal form or not."""
    if len(fenceposts) == 2:
        yield Phrase(*fenceposts)
    for middle in range(1, len(fenceposts) - 1):
        for left in bracketings(fenceposts[: middle + 1]):
            for right in bracketings(fenceposts[middle:]):
                yield Branch(left, right, False)
                yield Branch(left, right, True)


class Forest(NamedTuple):
    trees: list
    rules: torch.Tensor  # [trees, segments - 1] 2 * packed split + orientation
    log_two: torch.Tensor  # [trees]

    def log_weights(self, scores):
        """[trees] from scores [splits, 2]."""
        return scores.flatten()[self.rules].sum(-1) + self.log_two


@lru_cache(maxsize=2**14)
def forest(start, stop, segments, limit):
    """Every normal-form tree over start..stop with that many leaves, none over the limit."""
    trees = [
        tree
        for fenceposts in tilings(start, stop, segments, limit)
        for tree in bracketings(fenceposts)
        if is_normal(tree)
    ]
    rules = [[2 * SPLIT_INDEX[split(b)] + int(b.inverted) for b in branches(t)] for t in trees]
    return Forest(
        trees,
        torch.tensor(rules, dtype=torch.long).reshape(len(trees), segments - 1),
        torch.tensor([log_two_terms(tree) for tree in trees], dtype=torch.float64),
    )


class Enumeration:
    """A distribution over listed outcomes, each a set of rules with a sum of scores.

    Outcomes of weight 0 (a forbidden rule) are left out.
    """

    def __init__(self, outcomes, rules, constants, scores):
        log_weights = scores.flatten()[rules].sum(-1) + constants  # [outcomes]
        alive = log_weights.detach() > -math.inf
        self.outcomes = [outcome for outcome, keep in zip(outcomes, alive, strict=True) if keep]
        self.rules = rules[alive]  # [outcomes, segments - 1]
        self.log_weights = log_weights[alive]  # [outcomes]
        self.scores = scores

    @property
    def log_partition(self):
        return self.log_weights.logsumexp(0)

    @property
    def log_probs(self):
        return self.log_weights - self.log_partition

    @property
    def probs(self):
        return self.log_probs.exp()

    @property
    def entropy(self):
        return -(self.probs * self.log_probs).sum()

    @property
    def marginals(self):
        result = torch.zeros(self.scores.numel(), dtype=torch.float64)
        for rules, probability in zip(self.rules, self.probs.detach(), strict=True):
            result[rules] += probability
        return result.view_as(self.scores)

    @property
    def impossible(self):
        """Mask of the rules that no outcome uses, shaped like the scores."""
        result = torch.ones(self.scores.numel(), dtype=torch.bool)
        result[self.rules.flatten()] = False
        return result.view_as(self.scores)

    def expectation(self, values):
        return (self.probs * values.flatten()[self.rules].sum(-1)).sum()

    def log_prob(self, outcome):
        return self.log_probs[self.outcomes.index(outcome)]


class TreeOracle(Enumeration):
    """p(tree | segments) from scores [splits, 2]."""

    def __init__(self, scores, length, segments, limit):
        listed = forest(0, length, segments, limit)
        super().__init__(listed.trees, listed.rules, listed.log_two, scores)
        self.length = length

    def kl(self, other):
        """Finite only: every tree of ours must be one of the other's."""
        other_log_probs = torch.stack([other.log_prob(tree) for tree in self.outcomes])
        return (self.probs * (self.log_probs - other_log_probs)).sum()

    @property
    def leaf_marginals(self):
        result = torch.zeros(math.comb(self.length + 1, 2), dtype=torch.float64)
        for tree, probability in zip(self.outcomes, self.probs.detach(), strict=True):
            for phrase in phrases(tree):
                result[SPAN_INDEX[phrase]] += probability
        return result


def log_inside(scores, start, stop, segments, limit, orientation):
    """Log mass of the labelled derivations of a cell; orientation 0 straight, 1 inverted."""
    if segments == 1:
        return 0.0 if may_be_leaf(start, stop, limit) else -math.inf
    listed = forest(start, stop, segments, limit)
    chosen = [tree.inverted == orientation for tree in listed.trees]
    return listed.log_weights(scores)[torch.tensor(chosen, dtype=torch.bool)].logsumexp(0).item()


def rule_log_probs(scores, start, stop, segments, limit, orientation):
    """{(first count, second count, middle, second label): share of the cell's derivations}."""
    listed = forest(start, stop, segments, limit)
    masses = defaultdict(list)
    for tree, log_weight in zip(listed.trees, listed.log_weights(scores).tolist(), strict=True):
        if tree.inverted == orientation and log_weight > -math.inf:
            first, second = in_target_order(tree)
            for label in labels(second, tree):
                rule = (count(first), count(second), split(tree)[1], label)
                masses[rule].append(log_weight - math.log(len(labels(second, tree))))
    # [derivations of each rule] -> log sum, then divided by the sum over all rules
    sums = {rule: torch.tensor(m, dtype=torch.float64).logsumexp(0) for rule, m in masses.items()}
    total = torch.stack(list(sums.values())).logsumexp(0) if sums else None
    return {rule: (mass - total).item() for rule, mass in sums.items()}


@lru_cache(maxsize=2**10)
def usable_cells(length, segments, limit):
    """Cells (leaf count, start, stop, label) of the trees with at most that many leaves."""
    cells = set()

    def visit(tree, parent=None):
        start, stop = min(phrases(tree)).start, max(p.stop for p in phrases(tree))
        cells.update((count(tree), start, stop, label) for label in labels(tree, parent))
        if not is_phrase(tree):
            visit(tree.left, tree)
            visit(tree.right, tree)

    for leaves in range(1, segments + 1):
        for tree in forest(0, length, leaves, limit).trees:
            visit(tree)
    return cells


def leaf_positions(tree, offset=0):
    """(first, middle, last) target ranks of the leaves below each branch, as `branches` orders."""
    if is_phrase(tree):
        return []
    first, second = in_target_order(tree)
    middle, last = offset + count(first), offset + count(tree)
    below = leaf_positions(first, offset) + leaf_positions(second, middle)
    return [(offset, middle, last), *below]


class LeafOracle(Enumeration):
    """q(segmentation | tree) from scores [splits] over target fenceposts."""

    def __init__(self, scores, length, tree, limit):
        listed = list(tilings(0, length, count(tree), limit))
        rules = [
            [SPLIT_INDEX[tuple(posts[rank] for rank in ranks)] for ranks in leaf_positions(tree)]
            for posts in listed
        ]
        rules = torch.tensor(rules, dtype=torch.long).reshape(len(listed), count(tree) - 1)
        segmentations = [list(pairwise(fenceposts)) for fenceposts in listed]
        super().__init__(segmentations, rules, 0.0, scores)
