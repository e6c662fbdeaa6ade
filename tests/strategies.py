"""What hypothesis draws: trees, and batches of sentences with scores for either CRF.

A batch mixes lengths and leaf counts; its padding holds garbage that must not matter.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from hypothesis import assume
from hypothesis import strategies as st
from oracle import (
    SPAN_INDEX,
    SPANS,
    Enumeration,
    LeafOracle,
    TreeOracle,
    effective_limit,
    forest,
    is_phrase,
)

from btg_seq2seq.grammar import Leaf, LeafCRF, Node, TreeCRF

SCALES = [0.1, 1.0, 10.0, 60.0]
GARBAGE = [math.nan, math.inf, -math.inf, 1e30, -3.0]


def to_public(tree):
    """The package's object for an oracle's tree."""
    if is_phrase(tree):
        return Leaf(tree.start, tree.stop)
    return Node(to_public(tree.left), to_public(tree.right), inverted=tree.inverted)


def pad(tensors):
    """One tensor [batch, longest, ...], garbage after each sentence's own entries."""
    longest = max(len(tensor) for tensor in tensors)
    shape = (len(tensors), longest, *tensors[0].shape[1:])
    garbage = torch.tensor(GARBAGE, dtype=tensors[0].dtype)
    padded = garbage.repeat(math.prod(shape) // len(GARBAGE) + 1)[: math.prod(shape)].view(shape)
    for row, tensor in zip(padded, tensors, strict=True):
        row[: len(tensor)] = tensor.detach()
    return padded


def random_scores(generator, shape, scale, forbidden=0.0):
    scores = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
    dropped = torch.rand(shape, generator=generator, dtype=torch.float64) < forbidden
    return scores.masked_fill(dropped, -math.inf)


@st.composite
def oracle_trees(draw, max_length=6, max_segments=5):
    """One tree, in the oracle's representation, over 0..length."""
    length = draw(st.integers(1, max_length))
    segments = draw(st.integers(1, min(length, max_segments)))
    return draw(st.sampled_from(forest(0, length, segments, length).trees))


def public_trees(**sizes):
    return oracle_trees(**sizes).map(to_public)


@dataclass
class Batch:
    """Sentences with unpadded scores that require gradients, and what else makes a CRF."""

    scores: list  # of [splits, 2] for trees, [splits] for leaves
    lengths: list
    segments: list
    max_phrase_length: int | None
    scale: float
    generator: torch.Generator

    def __len__(self):
        return len(self.lengths)

    @property
    def limits(self):
        pairs = zip(self.lengths, self.segments, strict=True)
        return [effective_limit(*pair, self.max_phrase_length) for pair in pairs]

    def padded(self, tensors=None):
        """Fresh padded leaf tensor [batch, splits, ...] of the scores, or of other values."""
        return pad(self.scores if tensors is None else tensors).requires_grad_()

    def random_values(self, scale=1.0):
        """Unpadded values for every split, shaped like the scores."""
        values = [random_scores(self.generator, s.shape, scale) for s in self.scores]
        return [value.requires_grad_() for value in values]

    def choose(self, oracles):
        """One outcome for each sentence, any of those possible."""
        draws = [torch.rand(1, generator=self.generator).item() for _ in oracles]
        return [
            oracle.outcomes[int(draw * len(oracle.outcomes))]
            for oracle, draw in zip(oracles, draws, strict=True)
        ]


@dataclass
class TreeCRFBatch(Batch):
    masks: list | None = None  # of [spans] bool: which may be leaves

    @property
    def leaves(self):
        """What may be a leaf, as the oracle has it: a limit, or all spans for each sentence."""
        if self.masks is None:
            return self.limits
        return [
            frozenset(
                (start, stop)
                for (start, stop), allowed in zip(SPANS, mask.tolist(), strict=False)
                if allowed and stop - start <= limit
            )
            for mask, limit in zip(self.masks, self.limits, strict=True)
        ]

    @property
    def padded_masks(self):
        """[batch, spans], garbage after each sentence's own entries."""
        if self.masks is None:
            return None
        shape = len(self), max(map(len, self.masks))
        padded = torch.rand(shape, generator=self.generator) < 0.5
        for row, mask in zip(padded, self.masks, strict=True):
            row[: len(mask)] = mask
        return padded

    def crf(self, kernels, padded):
        return TreeCRF(
            padded,
            torch.tensor(self.lengths),
            torch.tensor(self.segments),
            max_phrase_length=self.max_phrase_length,
            kernels=kernels,
            allowed_leaves=self.padded_masks,
        )

    def alone(self, index, kernels, scores, copies=1):
        """The CRF of one sentence, from scores [copies, splits, 2]."""
        return TreeCRF(
            scores,
            self.lengths[index : index + 1] * copies,
            self.segments[index : index + 1] * copies,
            max_phrase_length=self.max_phrase_length,
            kernels=kernels,
            allowed_leaves=None if self.masks is None else self.masks[index].expand(copies, -1),
        )

    def oracle(self, index, segments=None, scores=None):
        return TreeOracle(
            (self.scores if scores is None else scores)[index],
            self.lengths[index],
            self.segments[index] if segments is None else segments,
            self.leaves[index],
        )

    def oracles(self, scores=None) -> list[Enumeration]:
        return [self.oracle(index, scores=scores) for index in range(len(self))]


@dataclass
class LeafCRFBatch(Batch):
    trees: list  # of the oracle's trees

    @property
    def public_trees(self):
        return [to_public(tree) for tree in self.trees]

    def crf(self, kernels, padded):
        return LeafCRF(
            padded,
            torch.tensor(self.lengths),
            self.public_trees,
            max_phrase_length=self.max_phrase_length,
            kernels=kernels,
        )

    def oracles(self) -> list[Enumeration]:
        rows = zip(self.scores, self.lengths, self.trees, self.limits, strict=True)
        return [LeafOracle(*row) for row in rows]


@st.composite
def batch_settings(draw, scales, forbidden):
    """Phrase length limit, score scale, share of forbidden splits, source of random numbers."""
    limit = draw(st.sampled_from([None, 1, 2, 2, 3, 4, 6]))
    scale = draw(st.sampled_from(scales))
    share = draw(st.sampled_from([0.0, 0.1, 0.3])) if forbidden else 0.0
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    return limit, scale, share, generator


@st.composite
def sizes(draw, max_batch, max_length, max_segments):
    """Lengths and leaf counts of 1 to max_batch sentences, not too many of them trivial."""
    lengths, segments = [], []
    for _ in range(draw(st.sampled_from(range(1, max_batch + 1)))):
        length = draw(st.sampled_from([*range(3, max_length + 1), *range(1, max_length + 1)]))
        most = min(length, max_segments)
        lengths.append(length)
        segments.append(draw(st.sampled_from([*range(2, most + 1), *range(1, most + 1)])))
    return lengths, segments


@st.composite
def leaf_masks(draw, lengths, segments, generator):
    """Which spans may be leaves: some, and those of a tree, so that there is one."""
    share = draw(st.sampled_from([0.0, 0.3, 0.7]))
    masks = []
    for length, count in zip(lengths, segments, strict=True):
        mask = torch.rand(math.comb(length + 1, 2), generator=generator) < share
        posts = [length * part // count for part in range(count + 1)]  # no longer than any limit
        posts = [length - post for post in posts[::-1]] if draw(st.booleans()) else posts
        mask[[SPAN_INDEX[span] for span in pairwise(posts)]] = True
        masks.append(mask)
    return masks


@st.composite
def tree_crf_batches(
    draw, max_batch=3, max_length=6, max_segments=4, scales=SCALES, forbidden=True, enumerable=True
):
    limit, scale, share, generator = draw(batch_settings(scales, forbidden))
    lengths, segments = draw(sizes(max_batch, max_length, max_segments))
    shapes = [(math.comb(length + 1, 3), 2) for length in lengths]
    scores = [random_scores(generator, shape, scale, share).requires_grad_() for shape in shapes]
    batch = TreeCRFBatch(scores, lengths, segments, limit, scale, generator)
    if draw(st.booleans()):
        batch.masks = draw(leaf_masks(lengths, segments, generator))
    if enumerable:
        assume(all(oracle.outcomes for oracle in batch.oracles()))
    return batch


@st.composite
def leaf_crf_batches(
    draw, max_batch=3, max_length=7, max_segments=4, scales=SCALES, forbidden=True
):
    limit, scale, share, generator = draw(batch_settings(scales, forbidden))
    lengths, segments = draw(sizes(max_batch, max_length, max_segments))
    # over source sentences of up to three words more than there are leaves
    trees = [draw(st.sampled_from(forest(0, s + 3, s, 4).trees)) for s in segments]
    shapes = [(math.comb(length + 1, 3),) for length in lengths]
    scores = [random_scores(generator, shape, scale, share).requires_grad_() for shape in shapes]
    batch = LeafCRFBatch(scores, lengths, segments, limit, scale, generator, trees)
    assume(all(oracle.outcomes for oracle in batch.oracles()))
    return batch


def random_tree(random, start, stop, segments, orientations=(False, True)):
    """A tree too large to enumerate, not uniformly drawn; `random` is a random.Random."""
    if segments == 1:
        return Leaf(start, stop)
    left_segments = random.randint(1, segments - 1)
    middle = random.randint(start + left_segments, stop - (segments - left_segments))
    inverted = random.choice(orientations)
    other, either = (not inverted,), (False, True)  # the child that is first, and the second
    left_choice, right_choice = (either, other) if inverted else (other, either)
    left = random_tree(random, start, middle, left_segments, left_choice)
    right = random_tree(random, middle, stop, segments - left_segments, right_choice)
    return Node(left, right, inverted=inverted)
