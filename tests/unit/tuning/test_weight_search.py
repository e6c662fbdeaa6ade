"""The search for weights finds what is there, does not move without reason, and is repeatable."""

import numpy as np

from btg_seq2seq.model.tuned.ranking_weights import FEATURES, RankingWeights
from btg_seq2seq.tuning.weight_search import RANGES, search_weights

WORD, REVERSE = FEATURES.index("word"), FEATURES.index("reverse")


def hill(weights):
    """Best where the bonus is 2 and the reverse weight 0.5."""
    return 50 - 5 * (weights[WORD] - 2) ** 2 - 20 * (weights[REVERSE] - 0.5) ** 2


def test_it_finds_the_top():
    found = search_weights(hill, RankingWeights(), {"word", "reverse", "phrase"}, seed=3)
    assert abs(found.word - 2) < 0.2
    assert abs(found.reverse - 0.5) < 0.1
    assert abs(found.phrase) < 0.2
    assert found == search_weights(hill, RankingWeights(), {"word", "reverse", "phrase"}, seed=3)


def test_only_free_weights_move():
    found = search_weights(hill, RankingWeights(phrase=0.3), {"word", "forward"})
    assert (found.reverse, found.forward, found.phrase) == (0.0, 1.0, 0.3)
    assert search_weights(hill, RankingWeights(), {"forward"}) == RankingWeights()


def test_nothing_moves_without_reason():
    start = RankingWeights()
    assert search_weights(lambda weights: 10.0, start, RANGES) == start


def test_a_plateau_is_preferred_to_a_peak():
    def objective(weights):
        word = weights[WORD]
        if abs(word - 0.75) < 0.02:
            return 20.5
        return 20.0 if 1.5 < word < 4 else 10.0

    found = search_weights(objective, RankingWeights(), {"word"})
    assert 1.5 < found.word < 4


def test_weights_stay_in_their_ranges():
    found = search_weights(lambda weights: float(np.sum(weights)), RankingWeights(), RANGES)
    for name, (low, high) in RANGES.items():
        assert low <= getattr(found, name) <= high
        assert getattr(found, name) > 0.9 * high
