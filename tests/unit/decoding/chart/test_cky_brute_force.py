"""Cky decoding against the definition: all strings of all phrases of all trees, added up."""

import math
from collections import defaultdict
from itertools import accumulate, product

import numpy as np
import pytest
import torch
from countable_models import (
    EVERYTHING,
    FLAT_WEIGHT,
    RATE,
    SOURCE,
    countable_model,
    flat_log_prob,
    strings_of,
)
from decoding_models import phrase_log_prob, prepare
from oracle import forest, phrases
from tiny_units import with_words

from btg_seq2seq.text.units import fenceposts_of


def derivations(model, source, limit):
    """String, log-probability and leaves of every derivation."""
    posts, framed = fenceposts_of(model.unit_table, source), [*source, 1]
    length = len(posts) - 1
    whole = (0, length)
    for string in [(), *strings_of(len(source))]:
        yield string, math.log(FLAT_WEIGHT) + flat_log_prob(model, framed, string), [whole]
    input_ids = torch.tensor([framed])
    pair = model.read(input_ids, torch.ones_like(input_ids), torch.tensor([[4, 1]])).pair
    scores = pair.prior_scores[0].double()
    table = {
        (start, stop): {
            string: phrase_log_prob(model, framed, start, stop, string)
            for string in strings_of(posts[stop] - posts[start])
        }
        for stop in range(1, length + 1)
        for start in range(stop)
        if stop - start <= min(limit, length - 1)
    }
    # Two phrases with the rate, three with what is left.
    for segments, share in ((2, RATE), (3, 1 - RATE)):
        trees = forest(0, length, segments, limit)
        log_probs = trees.log_weights(scores).log_softmax(0).tolist()
        for tree, log_prob in zip(trees.trees, log_probs, strict=True):
            leaves = [tuple(leaf) for leaf in phrases(tree)]
            mass = math.log((1 - FLAT_WEIGHT) * share) + log_prob
            for choice in product(*(table[leaf].items() for leaf in leaves)):
                string = tuple(token for part, _ in choice for token in part)
                ends = {*accumulate(len(part) for part, _ in choice)}
                if not ends <= {*fenceposts_of(model.unit_table, string)}:
                    continue  # a word would be made of two phrases
                yield string, mass + sum(value for _, value in choice), leaves


@pytest.mark.parametrize(
    ("encoding", "limit", "source", "continuing"),
    [
        ("alone", None, SOURCE, None),
        ("sentence", 2, SOURCE, None),
        ("alone", None, [4, 6, 5, 4], [6]),
        ("sentence", 2, [4, 6, 5, 4, 6], [6]),
        ("both", 2, SOURCE, None),
    ],
)
@torch.no_grad()
def test_cky_is_the_sum_over_all_derivations(encoding, limit, source, continuing):
    model = countable_model(phrase_encoding=encoding, max_phrase_length=limit)
    if continuing is not None:
        model = with_words(model, continuing)
    masses, best = defaultdict(list), {}
    for string, mass, leaves in derivations(model, source, limit or len(source)):
        masses[string].append(mass)
        best[string] = max(best.get(string, (-math.inf, [])), (mass, leaves))
    expected = {string: float(np.logaddexp.reduce(own)) for string, own in masses.items()}
    (result,) = prepare(model, [[*source, 1]], EVERYTHING).decode(nbest=None)
    assert len(result.hypotheses) == len(expected)
    for own in result.hypotheses:
        assert own.log_prob == pytest.approx(expected[own.tokens], abs=1e-4)
        assert own.best_log_prob == pytest.approx(best[own.tokens][0], abs=1e-4)
        leaves = [(one.start, one.stop) for one in own.phrases]
        assert leaves == best[own.tokens][1]
    assert result.hypotheses[0].tokens == max(expected, key=expected.get)
    assert any(len(own.phrases) > 2 for own in result.hypotheses)
    longest = EVERYTHING.longest_output
    assert [longest(length) for length in (1, 2, 3, 4)] == [2, 2, 3, 3]
