"""The sum over target segmentations, against one that takes them one by one."""

import itertools

import pytest
import torch
from tiny_models import batch_of, padded, tiny_backbone
from tiny_units import with_words

from btg_seq2seq.derivations.segmentation_sum import Leaves, SegmentationSum
from btg_seq2seq.grammar import SegmentationBatch, Tree, TreeBatch
from btg_seq2seq.model.config import BTGSeq2SeqConfig
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text.batches import IGNORED

# Three trees for each of two sentences; one phrase is in two trees, one tree is there twice.
TREES = ["[0:1 <1:3 3:4>]", "<0:2 2:4>", "[0:1 1:4]", "<0:1 1:3>", "[0:1 [1:2 2:3]]", "<0:1 1:3>"]
SENTENCES = torch.tensor([0, 0, 0, 1, 1, 1])
LENGTHS = ((4, 5), (3, 4))
CONTINUING = 30


def every_segmentation(length, segments):
    for inner in itertools.combinations(range(1, length), segments - 1):
        yield list(itertools.pairwise((0, *inner, length)))


@pytest.fixture(params=["t5", "bart", "words"])
def model(request):
    backbone = tiny_backbone("t5" if request.param == "words" else request.param)
    backbone.add_segment_ids(38, 39)
    model = BTGSeq2Seq(BTGSeq2SeqConfig(backbone.model.config, suffix=[1]), backbone).eval()
    return with_words(model, [CONTINUING]) if request.param == "words" else model


def words(length, first):
    """Words of one to three tokens."""
    return [token for w in range(length) for token in (first + w, *[CONTINUING] * (w % 3))]


def read(model):
    """Two sentence pairs with as many units as ``LENGTHS``."""
    inputs = batch_of(model.backbone, LENGTHS)
    if model.unit_table.any():
        sources, targets = (
            padded([[*words(pair[side], first), 1] for pair in LENGTHS], pad)
            for side, first, pad in ((0, 10, model.backbone.pad), (1, 20, IGNORED))
        )
        inputs = sources, (sources != model.backbone.pad).long(), targets
    pair = model.read(*inputs).pair
    assert pair.source.units.tolist() == [source for source, _ in LENGTHS]
    assert pair.target.units.tolist() == [target for _, target in LENGTHS]
    return pair


def sums_of(model, boundaries=None, limits=None):
    pair = read(model)
    trees = TreeBatch.from_trees(map(Tree.parse, TREES))
    if boundaries is None:
        boundaries = torch.ones(2, pair.target.posts.shape[1], dtype=torch.bool)
    limits = torch.full((6,), 9) if limits is None else limits
    return (
        pair,
        trees,
        SegmentationSum.of(
            model, pair, Leaves(SENTENCES, trees.phrases, trees.segments, limits), boundaries
        ),
    )


@torch.no_grad()
def weights_of(model, pair, trees, row, allowed=lambda stretches: True):
    """Log weight of every segmentation of a tree."""
    sentence, tree = SENTENCES[row : row + 1], trees[row]
    length = int(pair.target.units[sentence])
    weights = {}
    for segmentation in every_segmentation(length, tree.segments):
        if allowed(segmentation):
            pairs = PhrasePairs.forward(
                TreeBatch.from_trees([tree]), SegmentationBatch.from_lists([segmentation])
            )
            weights[tuple(segmentation)] = model.phrase_log_probs(pair[sentence], pairs).sum()
    return weights


def test_sum_and_samples_are_those_of_an_enumeration(model):
    pair, trees, total = sums_of(model)
    draws = 3000
    for row in range(len(TREES)):
        weights = weights_of(model, pair, trees, row)
        expected = torch.stack(list(weights.values())).logsumexp(0)
        torch.testing.assert_close(total.log_sum[row], expected, rtol=1e-4, atol=1e-4)
        best = max(weights, key=lambda segmentation, weights=weights: float(weights[segmentation]))
        assert tuple(total.argmax[row]) == best
    torch.manual_seed(0)
    drawn = [total.sample(torch.rand(6, 3, dtype=torch.float64)) for _ in range(draws // 10)]
    for row in (0, 4):
        weights = weights_of(model, pair, trees, row)
        probabilities = torch.stack(list(weights.values())).softmax(0)
        for segmentation, probability in zip(weights, probabilities, strict=True):
            share = sum(tuple(batch[row]) == segmentation for batch in drawn) / len(drawn)
            assert abs(share - probability) < 0.12


def test_only_allowed_boundaries_and_lengths_count(model):
    pair = read(model)
    boundaries = torch.zeros(2, pair.target.posts.shape[1], dtype=torch.bool)
    boundaries[0, [2, 3]] = True
    boundaries[1, [1, 2]] = True
    limits = torch.tensor([9, 3, 3, 9, 9, 9])
    pair, trees, total = sums_of(model, boundaries, limits)
    for row, (inner, limit) in enumerate(
        zip([{2, 3}] * 3 + [{1, 2}] * 3, limits.tolist(), strict=True)
    ):
        weights = weights_of(
            model,
            pair,
            trees,
            row,
            lambda phrases, inner=inner, limit=limit: (
                {start for start, _ in phrases[1:]} <= inner
                and all(stop - start <= limit for start, stop in phrases)
            ),
        )
        expected = torch.stack(list(weights.values())).logsumexp(0)
        torch.testing.assert_close(total.log_sum[row], expected, rtol=1e-4, atol=1e-4)
        sampled = total.sample(torch.rand(6, 3, dtype=torch.float64))[row]
        assert tuple(sampled) in weights
