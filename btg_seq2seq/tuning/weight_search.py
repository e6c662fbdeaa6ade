"""Search for the weights with which the best candidates of n-best lists score highest.

Coordinate search from several starting points, with steps that become smaller. A weight is judged
by its neighbours too: a value between others that are as good generalises better than a peak.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from btg_seq2seq.decoding.phrase_translator import Floats
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, RankingWeights

# Smallest and largest weight of each feature that is searched for; the weight of ``forward`` sets
# the scale. A grammar without weight would leave the order of phrases to chance.
RANGES = {
    "grammar": (0.1, 3.0),
    "reverse": (0.0, 2.0),
    "lexical": (0.0, 2.0),
    "reverse_lexical": (0.0, 2.0),
    "word": (-1.0, 5.0),
    "phrase": (-3.0, 3.0),
}
STARTS = 6
ROUNDS = 5
REACH = 4  # steps to either side
LEAST_GAIN = 1e-3  # of the metric, in percent
RIDGE = 0.05  # of the metric, for a weight as far from its default as its range allows


def search_weights(
    objective: Callable[[Floats], float],
    start: RankingWeights,
    free: Collection[str],
    seed: int = 0,
) -> RankingWeights:
    """Find weights; only those of the ``free`` features differ from ``start``.

    The same seed gives the same weights. Weights that are no better than others but further from
    the defaults are not chosen.
    """
    generator = np.random.default_rng(seed)
    names = [name for name in FEATURES if name in free and name in RANGES]
    if not names:
        return start
    default = np.array(RankingWeights().values)
    sizes = np.array([np.subtract(*RANGES.get(name, (0.0, 1.0))[::-1]) for name in FEATURES])

    def value(weights: Floats) -> float:
        return objective(weights) - RIDGE * float((np.abs(weights - default) / sizes).sum())

    best, best_value = np.array(start.values), value(np.array(start.values))
    for attempt in range(STARTS):
        weights = np.array(start.values)
        if attempt > 0:
            for name in names:
                low, high = RANGES[name]
                weights[FEATURES.index(name)] = generator.uniform(low, low + (high - low) / 2)
        for step in range(ROUNDS):
            for place in generator.permutation(len(names)).tolist():
                weights = _line_search(value, weights, names[place], 0.5**step)
        if value(weights) > best_value + LEAST_GAIN:
            best, best_value = weights, value(weights)
    return RankingWeights(**dict(zip(FEATURES, (float(round(w, 4)) for w in best), strict=True)))


def _line_search(
    value: Callable[[Floats], float], weights: Floats, name: str, scale: float
) -> Floats:
    """Move one weight to the best place within reach."""
    column, (low, high) = FEATURES.index(name), RANGES[name]
    step = scale * (high - low) / (2 * REACH)
    places = weights[column] + step * np.arange(-REACH - 1, REACH + 2)
    places = places.clip(low, high)
    values = np.empty(len(places))
    for rank, place in enumerate(places):
        moved = weights.copy()
        moved[column] = place
        values[rank] = value(moved)
    # The mean with both neighbours, twice as much for the place itself.
    smooth = (values[:-2] + 2 * values[1:-1] + values[2:]) / 4
    chosen = int(smooth.argmax())
    if smooth[chosen] > smooth[REACH] + LEAST_GAIN:
        weights = weights.copy()
        weights[column] = places[1 + chosen]
    return weights
