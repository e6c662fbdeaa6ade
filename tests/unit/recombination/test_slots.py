"""Which places in trees exchange phrases, and where a phrase must not begin."""

from collections import Counter
from random import Random

import pytest

from btg_seq2seq.recombination.slots import Partners, overlaps


def test_rare_phrases_stay_where_rare_is_usual():
    pairs = {"[1": {sentence: ((sentence,), (sentence,)) for sentence in range(9)}}
    pairs["[1"][9] = ((8,), (8,))
    assert len(Partners(pairs, 0.25, 0.2).sentences["[1"]) == 10


def test_overlap_is_morisitas_index():
    random = Random(0)
    population = [((number,), (number,)) for number in range(40)]
    others = [((number,), (number + 1,)) for number in range(40)]
    counts = {
        "[1": Counter(random.choices(population, k=300)),
        "[2": Counter(random.choices(population, k=60)),
        "<1": Counter(random.choices(population[:20] + others[:20], k=300)),
        "<2": Counter(random.choices(others, k=300)),
    }
    found = overlaps(counts)
    assert found["[1", "[2"] == pytest.approx(1, abs=0.15)
    assert found["<1", "[1"] == pytest.approx(0.5, abs=0.15)
    assert ("<2", "[1") not in found
