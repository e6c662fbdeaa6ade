"""Cky with features against the definition: a log-linear score for every phrase pair."""

import math
from collections import defaultdict
from dataclasses import replace
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
from decoding_models import (
    SMALL,
    assert_same,
    check_rules,
    phrase_log_prob,
    prepare,
    sentences,
    tiny_model,
)
from oracle import forest, phrases
from tiny_units import with_words

from btg_seq2seq.decoding.chart import cky
from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.seq2seq_phrases import Seq2SeqPhrases
from btg_seq2seq.derivations.lexical import UnitCorpus, UnitSide, WordTables
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights
from btg_seq2seq.text.units import fenceposts_of

WEIGHTS = RankingWeights(
    forward=0.9,
    grammar=0.7,
    reverse=0.4,
    lexical=0.3,
    reverse_lexical=0.2,
    word=0.8,
    phrase=-0.3,
)


def tables():
    sides = [[[4, 5], [6, 4], [5, 6, 6]], [[5, 4], [4, 6], [6, 5]]]
    corpus = UnitCorpus(
        *(UnitSide.of(rows, [range(len(row) + 1) for row in rows]) for rows in sides)
    )
    return WordTables.estimate(corpus, 3)


def reverse_log_prob(model, source, start, stop, target):
    """Log-probability of source units given a target, as the objective computes it."""
    if not target:
        return -(len(source) - 1 + 1) * math.log(model.backbone.vocabulary_size)
    labels = torch.tensor([[*target, model.backbone.sentence_end]])
    input_ids = torch.tensor([source])
    pair = model.read(input_ids, torch.ones_like(input_ids), labels).pair
    # The source phrase is written, and the whole target is read.
    posts = torch.tensor([[start, stop]])
    pairs = PhrasePairs(posts, torch.tensor([[[0, int(pair.target.units)]]]), torch.tensor([1]))
    shifted = replace(pair, source=_part(pair.source, start, stop))
    pairs = replace(pairs, fenceposts=posts - start)
    return model.phrase_log_probs(shifted, pairs, reverse=True)[0, 0].item()


def _part(side, start, stop):
    """The phrase as a sentence of its own."""
    first, last = (int(side.posts[0, place]) for place in (start, stop))
    return replace(
        side,
        tokens=side.tokens[:, first:last],
        lengths=torch.tensor([last - first]),
        posts=side.posts[:, start : stop + 1] - first,
        units=torch.tensor([stop - start]),
    )


def lexical(known, read, written):
    """Sum over written words of the log of their mean probability, the empty word mixed in."""
    total = 0.0
    for y in written:
        mean = sum(known.probability(x, y)[0] for x in read) / max(len(read), 1)
        empty = dict(zip(known.target_words.tolist(), known.empty_target, strict=True))
        total += math.log(0.98 * mean + 0.02 * empty.get(y, 1e-7))
    return total


def reversed_tables(known):
    """The same tables, seen from the other side; slow and plain."""

    class Reversed:
        target_words, empty_target = known.source_words, known.empty_source

        @staticmethod
        def probability(x, y):
            return known.probability(y, x)[::-1]

    return Reversed


def score_of(model, known, framed, span, string, log_prob):
    posts = fenceposts_of(model.unit_table, framed[:-1])
    read = framed[posts[span[0]] : posts[span[1]]]
    features = {
        "forward": log_prob,
        "reverse": reverse_log_prob(model, framed, *span, string),
        "lexical": lexical(known, read, string),
        "reverse_lexical": lexical(reversed_tables(known), string, read),
        "word": len(fenceposts_of(model.unit_table, string)) - 1,
        "phrase": 1,
    }
    return sum(getattr(WEIGHTS, name) * value for name, value in features.items())


def derivations(model, known, source):
    """String, score and log-probability of every derivation."""
    posts, framed = fenceposts_of(model.unit_table, source), [*source, 1]
    length = len(posts) - 1
    for string in [(), *strings_of(len(source))]:
        log_prob = flat_log_prob(model, framed, string)
        score = score_of(model, known, framed, (0, length), string, log_prob)
        count = math.log(FLAT_WEIGHT)
        yield string, WEIGHTS.grammar * count + score, count + log_prob
    input_ids = torch.tensor([framed])
    pair = model.read(input_ids, torch.ones_like(input_ids), torch.tensor([[4, 1]])).pair
    scores = pair.prior_scores[0].double()
    table = {}
    for stop in range(1, length + 1):
        for start in range(stop):
            if stop - start < length:
                span = start, stop
                for string in strings_of(posts[stop] - posts[start]):
                    log_prob = phrase_log_prob(model, framed, start, stop, string)
                    score = score_of(model, known, framed, span, string, log_prob)
                    table.setdefault(span, {})[string] = score, log_prob
    for segments, share in ((2, RATE), (3, 1 - RATE)):
        trees = forest(0, length, segments, length)
        log_probs = trees.log_weights(scores).log_softmax(0).tolist()
        for tree, log_prob in zip(trees.trees, log_probs, strict=True):
            leaves = [tuple(leaf) for leaf in phrases(tree)]
            prior = math.log((1 - FLAT_WEIGHT) * share) + log_prob
            for choice in product(*(table[leaf].items() for leaf in leaves)):
                string = tuple(token for part, _ in choice for token in part)
                ends = {*accumulate(len(part) for part, _ in choice)}
                if ends <= {*fenceposts_of(model.unit_table, string)}:
                    score = WEIGHTS.grammar * prior + sum(own[0] for _, own in choice)
                    yield string, score, prior + sum(own[1] for _, own in choice)


@pytest.mark.parametrize(("source", "continuing"), [(SOURCE[:3], None), ([4, 6, 5, 4], [6])])
@torch.no_grad()
def test_cky_is_the_sum_of_the_scores_of_all_derivations(source, continuing):
    model, known = countable_model(), tables()
    if continuing is not None:
        model = with_words(model, continuing)
    scores, log_probs = defaultdict(list), defaultdict(list)
    for string, score, log_prob in derivations(model, known, source):
        scores[string].append(score)
        log_probs[string].append(log_prob)
    settings = replace(EVERYTHING, weights=WEIGHTS)
    found = Seq2SeqPhrases(model, [[*source, 1]], settings, tables=known)
    (result,) = cky.prepare(found, found.grammar, settings).decode(nbest=None)
    assert len(result.hypotheses) == len(scores)
    for own in result.hypotheses:
        expected = float(np.logaddexp.reduce(scores[own.tokens]))
        assert own.rank_score == pytest.approx(expected, abs=1e-4)
        exact = float(np.logaddexp.reduce(log_probs[own.tokens]))
        assert own.log_prob == pytest.approx(exact, abs=1e-4)
        # The features of the best derivation add up to its score.
        total = float(np.dot(own.features, WEIGHTS.values))
        assert total == pytest.approx(own.best_log_prob, abs=1e-6)
    ranked = [own.rank_score for own in result.hypotheses]
    assert ranked == sorted(ranked, reverse=True)


RANKED = replace(SMALL, weights=RankingWeights(reverse=0.3, word=0.5, phrase=0.2, grammar=0.8))


def test_results_do_not_depend_on_neighbours():
    model = tiny_model()
    sources = sentences(model, [5, 3, 7])
    together = prepare(model, sources, RANKED).decode(nbest=3)
    for source, expected in zip(sources, together, strict=True):
        (alone,) = prepare(model, [source], RANKED).decode(nbest=3)
        assert_same(alone, expected)
        for one, other in zip(alone.hypotheses, expected.hypotheses, strict=True):
            assert one.rank_score == pytest.approx(other.rank_score, abs=1e-4)


def test_settings_with_default_weights_rank_by_probability():
    model = tiny_model()
    sources = sentences(model, [5, 4])
    plain = prepare(model, sources, SMALL).decode(nbest=3)
    scored = prepare(model, sources, RANKED)
    complete = replace(scored.settings, weights=RankingWeights())
    again = scored.with_settings(complete).decode(nbest=3)
    for one, other in zip(plain, again, strict=True):
        for mine, yours in zip(one.hypotheses, other.hypotheses, strict=True):
            assert mine.tokens == yours.tokens
            assert mine.log_prob == pytest.approx(yours.log_prob, abs=1e-9)
            assert (mine.rank_score, yours.rank_score) == (None, None)


@pytest.mark.parametrize("limit", [100, 3])
def test_rules_with_features(limit):
    """Also where the sentence is too long for a chart."""
    model = tiny_model()
    sources = sentences(model, [6])
    rules = [
        RuleSpan(1, 3, ((7, 8), (9,)), 0),
        RuleSpan(4, 5, ((5, 5, 5),), 1, "prefer"),
        RuleSpan(5, 6, ((10**9,),), 2, "force", ((6, 7),)),
    ]
    settings = replace(RANKED, max_cky_length=limit)
    (result,) = prepare(model, sources, settings).decode([rules], nbest=3)
    check_rules(result, rules)
    assert result.hypotheses
    for own in result.hypotheses:
        assert own.rank_score is not None
        assert own.log_prob <= 1e-9
    # A rule's target is certain: only its words and its phrase count.
    (forced,) = prepare(model, sources, settings).decode([[RuleSpan(0, 6, ((7, 8),), 0)]])
    (only,) = forced.hypotheses
    assert only.log_prob == pytest.approx(0.0)
    assert only.rank_score == pytest.approx(2 * 0.5 + 0.2)
