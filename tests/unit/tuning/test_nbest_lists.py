"""N-best lists: padded arrays, and the metric of the best candidates."""

import numpy as np
import pytest

from btg_seq2seq.evaluation.sentence_statistics import SentenceStatistics
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, RankingWeights
from btg_seq2seq.tuning.nbest_lists import NBestLists, Objective

REFERENCES = ["a b", "c", "d"]


def features(**values):
    return [float(values.get(name, 0.0)) for name in FEATURES]


@pytest.fixture
def lists():
    found = NBestLists(SentenceStatistics("exact_match", REFERENCES))
    found.add_all(
        [
            (0, "b", features(forward=-1, word=1)),
            (0, "a b", features(forward=-2, word=2)),
            (0, "a b", features(forward=-2, word=2)),
            (1, "c", features(forward=-1, word=1)),
            (1, "c c c", features(forward=-5, word=3)),
        ]
    )
    return found


def test_arrays(lists):
    table, statistics, padding = lists.arrays()
    assert table.shape == (3, 2, len(FEATURES))
    assert padding.tolist() == [[0, 0], [0, 0], [0, -np.inf]]
    assert statistics[:, :, 0].tolist() == [[0, 1], [1, 0], [0, 0]]


def test_the_metric_of_the_best(lists):
    objective = Objective(lists)
    assert objective(RankingWeights()) == pytest.approx(100 / 3)
    assert objective(RankingWeights(word=1.5)) == pytest.approx(200 / 3)
    assert objective(RankingWeights(word=3.0)) == pytest.approx(100 / 3)
