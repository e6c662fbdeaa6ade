"""Samples of trees follow p(tree | n) (Algorithm 2).

Each test of frequencies would reject a correct sampler once in a million seeds; seeds are fixed.
"""

import pytest
import torch
from checks import chi_square_p_value
from hypothesis import given
from oracle import TreeOracle, bracketing, effective_limit
from strategies import random_scores, tree_crf_batches

from btg_seq2seq.grammar import TreeBatch, TreeCRF

pytestmark = pytest.mark.parametrize("kernels", ["fast", "portable"])
FALSE_ALARM_RATE = 1e-6
COPIES, CALLS = 500, 8  # copies of the sentence in a batch, draws from the batch


@pytest.mark.parametrize(
    ("length", "segments", "limit", "scale", "forbidden"),
    [
        (2, 2, None, 1.0, 0.0),
        (3, 3, None, 0.0, 0.0),  # only the log 2 terms
        (4, 3, None, 1.0, 0.0),
        (5, 4, 2, 1.0, 0.0),
        (5, 3, None, 1.0, 0.3),
        (6, 4, 3, 3.0, 0.0),
    ],
)
def test_frequencies(kernels, length, segments, limit, scale, forbidden):
    generator = torch.Generator().manual_seed(length * 10 + segments)
    size = length * (length + 1) * (length - 1) // 6
    scores = random_scores(generator, (size, 2), scale, forbidden)
    oracle = TreeOracle(scores, length, segments, effective_limit(length, segments, limit))
    crf = TreeCRF(
        scores.expand(COPIES, -1, -1),
        [length] * COPIES,
        [segments] * COPIES,
        max_phrase_length=limit,
        kernels=kernels,
    )
    draws = [str(tree) for _ in range(CALLS) for tree in crf.sample(generator)]
    texts = [bracketing(tree) for tree in oracle.outcomes]
    probabilities = dict(zip(texts, oracle.probs.tolist(), strict=True))
    assert chi_square_p_value(draws, probabilities) > FALSE_ALARM_RATE


def test_sentences_are_drawn_independently(kernels):
    """Pairs of neighbours in a batch follow the product of their distributions."""
    generator = torch.Generator().manual_seed(1)
    scores = random_scores(generator, (4, 2), 0.5)
    crf = TreeCRF(scores.expand(COPIES, -1, -1), [3] * COPIES, [2] * COPIES, kernels=kernels)
    oracle = TreeOracle(scores, 3, 2, 3)
    texts = [bracketing(tree) for tree in oracle.outcomes]
    single = dict(zip(texts, oracle.probs.tolist(), strict=True))
    both = {(a, b): p * q for a, p in single.items() for b, q in single.items()}
    pairs = []
    for _ in range(CALLS):
        trees = [str(tree) for tree in crf.sample(generator)]
        pairs += zip(trees[::2], trees[1::2], strict=True)
    assert chi_square_p_value(pairs, both) > FALSE_ALARM_RATE


@given(batch=tree_crf_batches())
def test_samples_are_possible_trees(kernels, batch):
    crf = batch.crf(kernels, batch.padded())
    trees = crf.sample(batch.generator)
    assert isinstance(trees, TreeBatch)
    assert trees.lengths.tolist() == batch.lengths
    assert trees.segments.tolist() == batch.segments
    assert crf.log_prob(trees).isfinite().all()
    for tree, oracle in zip(trees, batch.oracles(), strict=True):
        assert str(tree) in [bracketing(outcome) for outcome in oracle.outcomes]


@given(batch=tree_crf_batches())
def test_the_same_generator_gives_the_same_trees(kernels, batch):
    crf = batch.crf(kernels, batch.padded())
    draws = []
    for _ in range(2):
        generator = torch.Generator().manual_seed(7)
        draws.append([tree for _ in range(3) for tree in crf.sample(generator)])
    assert draws[0] == draws[1]


def test_the_global_generator_is_the_default(kernels):
    scores = random_scores(torch.Generator().manual_seed(0), (50, 20, 2), 1.0)
    crf = TreeCRF(scores, [5] * 50, [3] * 50, kernels=kernels)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        first, second = list(crf.sample()), list(crf.sample())
        torch.manual_seed(3)
        again = list(crf.sample())
    assert first == again
    assert first != second
