"""Rows of phrases against the same rows written out by hand, one token at a time."""

from itertools import pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.grammar import SegmentationBatch, Tree, TreeBatch, TreeCRF, splits
from btg_seq2seq.model.phrases import PhrasePairs, PhraseRow, last_tokens, own_phrase_mask

START, END, PAD = 1, 2, 0


@st.composite
def phrase_pairs(draw):
    """A random tree and segmentation a sentence, with token numbers that name their place."""
    sizes = draw(st.lists(st.tuples(*[st.integers(1, 7)] * 2), min_size=1, max_size=3))
    segments = [draw(st.integers(1, min(source, target))) for source, target in sizes]
    lengths = [source for source, _ in sizes]
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    scores = torch.zeros(len(sizes), len(splits(max(lengths))), 2)
    trees = TreeCRF(scores, lengths, segments, kernels="portable").sample(generator)
    lists = []
    for (_, target), count in zip(sizes, segments, strict=True):
        inner = draw(st.permutations(range(1, target)))[: count - 1]
        posts = [0, *sorted(inner), target]
        lists.append(list(pairwise(posts)))
    return trees, SegmentationBatch.from_lists(lists), sizes


def tokens(lengths, base):
    longest = max(lengths)
    return torch.tensor([[base + t if t < n else PAD for t in range(longest)] for n in lengths])


def check_row(row, text, phrases, others):
    """One sentence: ``phrases`` of ``text`` in order, each with the span it translates."""
    position = 0
    for rank, ((start, stop), (left, right)) in enumerate(zip(phrases, others, strict=True)):
        own = text[start:stop]
        begin, width = position, len(own) + 1
        here = slice(begin, begin + width)
        assert row["inputs"][here] == [START, *own]
        assert row["labels"][here] == [*own, END]
        assert row["rank"][here] == [rank] * width
        for offset in range(width):
            seen = [t for t, yes in enumerate(row["self_mask"][begin + offset]) if yes]
            assert seen == list(range(begin, begin + offset + 1))
            read = [t for t, yes in enumerate(row["cross_mask"][begin + offset]) if yes]
            assert read == list(range(left, right))
        position += width
    assert all(label == -100 for label in row["labels"][position:])
    assert all(token == PAD for token in row["inputs"][position:])


@given(phrase_pairs())
def test_rows_in_both_directions(drawn):
    trees, segmentations, sizes = drawn
    sources = tokens([source for source, _ in sizes], 100)
    targets = tokens([target for _, target in sizes], 200)
    pairs = PhrasePairs.forward(trees, segmentations)
    for direction, text, other in ((pairs, targets, sources), (pairs.reverse(), sources, targets)):
        rows = PhraseRow.pack(text, direction, other.shape[1], START, END, PAD)
        for b in range(len(sizes)):
            target_to_source = list(zip(segmentations[b], trees[b].phrases, strict=True))
            if direction is not pairs:
                target_to_source = sorted((source, target) for target, source in target_to_source)
            phrases, others = zip(*target_to_source, strict=True)
            row = {name: getattr(rows, name)[b].tolist() for name in vars(rows)}
            check_row(row, text[b].tolist(), phrases, others)


@given(phrase_pairs())
def test_sums_by_phrase(drawn):
    trees, segmentations, sizes = drawn
    text = tokens([target for _, target in sizes], 200)
    pairs = PhrasePairs.forward(trees, segmentations)
    rows = PhraseRow.pack(text, pairs, 9, START, END, PAD)
    ones = (rows.labels != -100).float()
    counts = rows.sum_by_phrase(ones, pairs.others.shape[1])
    for b, segmentation in enumerate(segmentations):
        assert counts[b, : len(segmentation)].tolist() == [
            stop - start + 1 for start, stop in segmentation
        ]


def test_tokens_see_their_own_phrase_only():
    trees = TreeBatch.from_trees([Tree.parse("[0:2 <2:3 3:5>]")])
    mask = own_phrase_mask(trees.phrases, 6)[0]
    for group in ({0, 1}, {2}, {3, 4}, {5}):
        for token in group:
            assert {other for other in range(6) if mask[token, other]} == group


def test_last_tokens():
    trees = TreeBatch.from_trees([Tree.parse("[0:2 <2:3 3:5>]"), Tree.parse("0:4")])
    last = last_tokens(trees.phrases, 6)
    assert last.nonzero().tolist() == [[0, 1], [0, 2], [0, 4], [1, 3]]
