"""Derivations of a corpus, in arrays."""

import numpy as np
import pytest

from btg_seq2seq.derivations.lexical import TaughtCorpus
from btg_seq2seq.grammar import Tree


@pytest.fixture
def taught():
    best = np.zeros((2, 2, 2, 4), np.int16)
    best[0, 0, 0] = (0, 3, 0, 2)
    best[0, 1] = [(2, 3, 0, 1), (0, 2, 1, 2)]
    return TaughtCorpus(
        log_partitions=np.array([[-5.0, -4.0], [-np.inf, -np.inf]]),
        log_maxima=np.array([[-5.0, -7.0], [-np.inf, -np.inf]]),
        log_counts=np.log([[0.25, 0.75], [1.0, 1.0]]),
        best=best,
        drawn=best[:, 1:],
        densities=np.array([[-0.5], [0.0]], np.float32),
    )


SHAPES = (np.array([3, 0]), np.array([2, 4]), 1, 2)


def test_best_and_drawn_derivations(taught):
    assert taught.chosen_count(0) == 1
    assert taught.best_derivation(0).tree == Tree.parse("0:3")
    assert taught.best_derivation(0, 2).tree == Tree.parse("<0:2 2:3>")
    assert taught.best_derivation(0, 3) is None
    assert taught.best_derivation(1) is None
    assert taught.finest_derivation(0) == taught.best_derivation(0, 2)
    assert taught.finest_derivation(1) is None
    assert taught.drawn_derivation(0, 0).segmentation == [(0, 1), (1, 2)]
    assert taught.drawn_derivation(1, 0) is None
    assert taught.phrases(0, 0) == [[2, 3, 0, 1], [0, 2, 1, 2]]
    assert taught.log_density(0, 0) == -0.5
    assert (taught.count, taught.without_derivation, len(taught)) == (1, 1, 2)


def test_probabilities(taught):
    joint = np.exp([-5.0, -4.0]) * [0.25, 0.75]
    np.testing.assert_allclose(np.exp(taught.count_log_probs(0)), joint / joint.sum())
    expected = np.log(np.exp(-7.0) * 0.75 / joint.sum())
    assert taught.best_log_prob(0, 2) == pytest.approx(expected)
    assert taught.best_log_prob(1) == -np.inf


def test_arrays_are_checked(taught):
    arrays = taught.arrays
    assert TaughtCorpus.checked(arrays, SHAPES) is not None
    assert TaughtCorpus.checked(arrays, (SHAPES[0] + 1, *SHAPES[1:])) is None
    assert TaughtCorpus.checked(arrays, (*SHAPES[:3], 3)) is None
    assert TaughtCorpus.checked({**arrays, "best": arrays["best"] + 1}, SHAPES) is None
    assert TaughtCorpus.checked({**arrays, "best": arrays["best"].astype(np.int32)}, SHAPES) is None
    assert TaughtCorpus.checked({"best": arrays["best"]}, SHAPES) is None


def test_parts_are_joined(taught):
    joined = TaughtCorpus.joined([taught, taught])
    assert len(joined) == 4
    assert joined.best_derivation(2, 2) == taught.best_derivation(0, 2)
