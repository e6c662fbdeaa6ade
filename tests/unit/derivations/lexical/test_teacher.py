"""The lexical teacher against plain implementations, and its independence of ranges and threads."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from btg_seq2seq.derivations.derivation import PhrasePair
from btg_seq2seq.derivations.lexical import (
    BitextChart,
    LexicalSettings,
    LexicalTeacher,
    UnitCorpus,
    UnitSide,
)
from btg_seq2seq.derivations.lexical import teacher as module
from btg_seq2seq.derivations.lexical.kernels import corpus_kernels
from btg_seq2seq.derivations.lexical.kernels.corpus_kernels import EMPTY
from btg_seq2seq.derivations.lexical.kernels.phrase_kernels import STOP
from btg_seq2seq.grammar import Tree, TreeCRF, phrase_length_limits
from btg_seq2seq.grammar.packing import split_count

SETTINGS = LexicalSettings(max_segments=3, draws=3, table_iterations=3, phrase_iterations=2)


def toy_corpus(sentences=14, seed=0, longest=6):
    """Token sentences with units of one or two tokens; an empty one among them."""
    random = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        tokens = [
            random.integers(0, 6, random.integers(1, longest)).tolist() for _ in range(sentences)
        ]
        tokens[3] = []
        begins = [(random.random(len(row)) < 0.8).tolist() for row in tokens]
        stops = random.random(sentences) < 0.8
        sides.append(replace(UnitSide.of_begins(tokens, begins), stops=stops))
    return UnitCorpus(*sides)


@pytest.fixture(scope="module")
def corpus():
    return toy_corpus()


@pytest.fixture(scope="module")
def teacher(corpus):
    return LexicalTeacher.learn(corpus, SETTINGS)


def tokens_of(side, sentence, start, stop):
    posts = side.fenceposts(sentence)
    begin = side.ends[sentence]
    return tuple(side.tokens[begin + posts[start] : begin + posts[stop]].tolist())


def phrase_score(teacher, sentence, i, k, a, c):
    """Log weight of a phrase pair, from the definition."""
    tables, corpus = teacher.tables, teacher.corpus
    x, y = tokens_of(corpus.source, sentence, i, k), tokens_of(corpus.target, sentence, a, c)
    source = {word: number for number, word in enumerate(tables.source_words.tolist())}
    target = {word: number for number, word in enumerate(tables.target_words.tolist())}
    forward = backward = 0.0
    for word in y:
        mean = sum(tables.probability(other, word)[0] for other in x) / len(x)
        empty = tables.empty_target[target[word]]
        forward += math.log((1 - EMPTY) * mean + EMPTY * empty)
        backward += math.log(tables.target_rates[target[word]])
    for word in x:
        mean = sum(tables.probability(word, other)[1] for other in y) / len(y)
        empty = tables.empty_source[source[word]]
        backward += math.log((1 - EMPTY) * mean + EMPTY * empty)
        forward += math.log(tables.source_rates[source[word]])
    lengths = 2 * math.log(STOP) + (k - i + c - a - 2) * math.log(1 - STOP)
    weight = teacher.settings.concentration * math.exp((forward + backward) / 2 + lengths)
    counts = teacher.counts
    for other in range(len(corpus)):
        for place in range(counts.ends[other], counts.ends[other + 1]):
            p, q, r, s = counts.cells[place]
            same = tokens_of(corpus.source, other, p, q) == x
            if other != sentence and same and tokens_of(corpus.target, other, r, s) == y:
                weight += float(counts.expected[place])
    return math.log(weight) - math.log(teacher.total + teacher.settings.concentration)


def dense_scores(teacher, sentence):
    units, layout, scores = corpus_kernels.scored(sentence, *teacher._inputs)
    posts = layout.low.shape[1]
    dense = np.full((units * (units + 1) // 2, posts, posts), -np.inf)
    for here in range(len(dense)):
        for a in range(posts):
            for c in range(layout.low[here, a], layout.high[here, a]):
                dense[here, a, c] = scores[layout.row[here, a] + c]
    return dense


def parts_ends(teacher, sentence, k, c):
    """Tell whether a phrase pair has the last unit of one side only, though these are tied."""
    corpus = teacher.corpus
    if not (corpus.source.stops[sentence] and corpus.target.stops[sentence]):
        return False
    units, others = (side.units[sentence] for side in (corpus.source, corpus.target))
    last = tokens_of(corpus.source, sentence, units - 1, units)
    other = tokens_of(corpus.target, sentence, others - 1, others)
    links = [prob for x in last for y in other for prob in teacher.tables.probability(x, y)]
    return min(links) > corpus_kernels.TIED and (k == units) != (c == others)


def test_scores_are_their_definition(teacher, corpus):
    assert len(teacher.counts.keys) > 0
    for sentence in (0, 1, 2, 7):
        dense = dense_scores(teacher, sentence)
        # Places that were not likely enough to be listed have counts elsewhere all the same.
        listed = {
            tuple(teacher.counts.cells[place].tolist())
            for place in range(teacher.counts.ends[sentence], teacher.counts.ends[sentence + 1])
        }
        for i, k, a, c in listed:
            expected = phrase_score(teacher, sentence, i, k, a, c)
            if parts_ends(teacher, sentence, k, c):
                expected = -math.inf
            assert dense[k * (k - 1) // 2 + i, a, c] == pytest.approx(expected, rel=1e-6)


def test_lexical_scores_are_their_definition(corpus):
    teacher = LexicalTeacher.learn(corpus, replace(SETTINGS, phrase_iterations=0))
    for sentence in (0, 5):
        dense = dense_scores(teacher, sentence)
        for k in range(1, corpus.source.units[sentence] + 1):
            for i in range(k):
                for c in range(1, corpus.target.units[sentence] + 1):
                    for a in range(c):
                        expected = phrase_score(teacher, sentence, i, k, a, c)
                        if parts_ends(teacher, sentence, k, c):
                            expected = -math.inf
                        found = dense[k * (k - 1) // 2 + i, a, c]
                        assert found == pytest.approx(expected, rel=1e-9)


def test_derivations_are_those_of_the_chart(teacher, corpus):
    taught = teacher.teach()
    for sentence in range(len(corpus)):
        if sentence == 3:
            assert taught.best_derivation(3) is None
            assert taught.phrases(3, 0) == []
            continue
        chart = BitextChart(dense_scores(teacher, sentence), 3, teacher.log_orders)
        most = chart.most
        np.testing.assert_allclose(taught.log_partitions[sentence, :most], chart.log_partitions)
        np.testing.assert_allclose(taught.log_maxima[sentence, :most], chart.log_maxima)
        assert (taught.log_partitions[sentence, most:] == -np.inf).all()
        for phrases in range(1, most + 1):
            derivation = taught.best_derivation(sentence, phrases)
            tree, segmentation = chart.best(phrases)
            assert (derivation.tree, derivation.segmentation) == (tree, segmentation)
        for draw in range(taught.count):
            derivation = taught.drawn_derivation(sentence, draw)
            assert derivation.tree.segments >= min(2, most)
            expected = chart.tree_log_prob(derivation.tree)
            assert taught.log_density(sentence, draw) == pytest.approx(expected, abs=1e-5)
    assert taught.without_derivation == 1


def test_expectations_are_those_of_the_chart(corpus):
    """One more iteration of EM, from the posteriors of exact charts."""
    before = LexicalTeacher.learn(corpus, replace(SETTINGS, phrase_iterations=1))
    after = LexicalTeacher.learn(corpus, replace(SETTINGS, phrase_iterations=2))
    total = 0.0
    for sentence in set(range(len(corpus))) - {3}:
        chart = BitextChart(dense_scores(before, sentence), 3, before.log_orders)
        weights = chart.log_partitions + before._grammar.log_counts[chart.most, 1 : chart.most + 1]
        weights = np.exp(weights - weights.max())
        weights /= weights.sum()
        posteriors = chart.phrase_posteriors(weights)
        total += posteriors.sum()
        for place in range(after.counts.ends[sentence], after.counts.ends[sentence + 1]):
            i, k, a, c = after.counts.cells[place].astype(int)
            expected = posteriors[k * (k - 1) // 2 + i, a, c]
            assert after.counts.expected[place] == pytest.approx(expected, rel=1e-4, abs=1e-7)
    assert after.total == pytest.approx(total)
    assert np.exp(after.log_orders).sum() == pytest.approx(1.0)


def test_results_do_not_depend_on_ranges_or_threads(corpus, teacher, monkeypatch):
    expected = teacher.teach().arrays
    monkeypatch.setattr(module, "RANGE", 3)
    found = LexicalTeacher.learn(corpus, SETTINGS, threads=3).teach().arrays
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_draws_depend_on_the_seed(corpus, teacher):
    other = replace(teacher, settings=replace(SETTINGS, seed=1)).teach()
    assert (other.drawn != teacher.teach().drawn).any()


def test_a_wide_beam_changes_nothing(corpus, teacher, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)
    expected = teacher.teach()
    wide = LexicalTeacher.learn(corpus, replace(SETTINGS, beam=1e6)).teach()
    np.testing.assert_array_equal(wide.best, expected.best)
    narrow = LexicalTeacher.learn(corpus, replace(SETTINGS, beam=0.5)).teach()
    assert narrow.without_derivation == 1  # the whole sentence pair is never pruned
    assert (narrow.log_partitions[:, 1:] < expected.log_partitions[:, 1:]).any()


class InterruptedRunError(Exception):
    """Raised in the middle of some work."""


def test_an_interrupted_run_goes_on(corpus, teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RANGE", 4)
    calls = []
    compute = LexicalTeacher._derive

    def derive(self, begin, end):
        calls.append(begin)
        if len(calls) == 3:
            raise InterruptedRunError
        return compute(self, begin, end)

    monkeypatch.setattr(LexicalTeacher, "_derive", derive)
    with pytest.raises(InterruptedRunError):
        LexicalTeacher.learn(corpus, SETTINGS, cache=tmp_path).teach()
    monkeypatch.setattr(LexicalTeacher, "_expect", None)  # all kept
    monkeypatch.setattr(module.WordTables, "estimate", None)
    taught = LexicalTeacher.learn(corpus, SETTINGS, cache=tmp_path).teach()
    assert calls[:3] == [0, 4, 8]
    assert sorted(calls[3:]) == [8, 12]
    for name, array in teacher.teach().arrays.items():
        np.testing.assert_array_equal(taught.arrays[name], array)


def test_damaged_or_hostile_files_are_replaced(corpus, teacher, tmp_path):
    LexicalTeacher.learn(corpus, SETTINGS, cache=tmp_path).teach()
    files = sorted(tmp_path.rglob("*.safetensors"))
    assert len(files) == 4  # tables, two iterations, one range
    for file in files:
        file.write_bytes(b"nonsense")
    expected = teacher.teach().arrays
    again = LexicalTeacher.learn(corpus, SETTINGS, cache=tmp_path)
    for name, array in again.teach().arrays.items():
        np.testing.assert_array_equal(array, expected[name])
    # Well-formed files with phrases that are not there.
    hostile = dict(expected, best=expected["best"] + 1)
    again.cache.save("derivations-0", hostile)
    places = {
        "sentences": np.zeros(1, np.int64),
        "cells": np.array([[0, 99, 0, 99]], np.int16),
        "expected": np.ones(1, np.float32),
        "totals": np.ones(3),
    }
    again.cache.save("expectations-0", places)
    again.cache.save("expectations-1", places)
    for name, array in (
        LexicalTeacher.learn(corpus, SETTINGS, cache=tmp_path).teach().arrays.items()
    ):
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_phrase_lengths_are_limited_as_in_the_parsers(limit):
    corpus = toy_corpus(sentences=8, seed=1, longest=9)
    taught = LexicalTeacher.learn(corpus, replace(SETTINGS, max_phrase_length=limit)).teach()
    for sentence in set(range(8)) - {3}:
        sides = corpus.source.units[sentence], corpus.target.units[sentence]
        for phrases in range(1, min(3, *sides) + 1):
            derivation = taught.best_derivation(sentence, phrases)
            for units, spans in zip(sides, zip(*derivation.phrases, strict=True), strict=False):
                bound = phrase_length_limits(
                    torch.tensor([int(units)]), torch.tensor([phrases]), limit
                )
                assert max(stop - start for start, stop in spans) <= int(bound[0])
            scores = torch.zeros(1, split_count(int(sides[0])), 2)
            crf = TreeCRF(scores, [int(sides[0])], [phrases], limit)
            assert torch.isfinite(crf.log_prob([derivation.tree])).all()


def test_long_sentences_have_no_derivation():
    corpus = UnitCorpus.of_text(["a b c", "a b"], ["x y", "x y z"])
    taught = LexicalTeacher.learn(corpus, LexicalSettings(max_units=2)).teach()
    assert taught.without_derivation == 2
    assert taught.chosen_count(0) == 0
    assert taught.best_log_prob(0) == -np.inf


def test_an_empty_corpus():
    taught = LexicalTeacher.learn(UnitCorpus.of_text([], []), SETTINGS).teach()
    assert len(taught) == 0


def test_recurring_phrases_are_preferred():
    """Two words always translated by two words, in changing company."""
    source = ["red tape a", "b red tape", "red tape c", "d red tape", "a d", "b c"]
    target = ["ta pe A", "B ta pe", "ta pe C", "D ta pe", "A D", "B C"]
    corpus = UnitCorpus.of_text(source, target)
    taught = LexicalTeacher.learn(corpus, LexicalSettings(max_segments=2)).teach()
    assert taught.best_derivation(0).tree == Tree.parse("[0:2 2:3]")
    assert taught.best_derivation(3).segmentation == [(0, 1), (1, 3)]
    assert taught.best_log_prob(0) <= 0
    assert np.exp(taught.count_log_probs(0)).sum() == pytest.approx(1.0)


def test_very_long_sentences_fit_the_room():
    """Sentences of 60 different words: the second pair repeats them, each with its translation."""
    words = [[f"{side}{number}" for number in range(60)] for side in "xy"]
    lines = [[*row, " ".join(row)] for row in words]
    settings = replace(SETTINGS, phrase_iterations=0)
    teacher = LexicalTeacher.learn(UnitCorpus.of_text(*lines), settings)
    _, _, scores = corpus_kernels.scored(60, *teacher._inputs)
    assert len(scores) <= corpus_kernels.ROOM
    taught = teacher.teach()
    assert taught.without_derivation == 0
    for pair in taught.best_derivation(60).phrases:
        assert pair.source == pair.target


def test_one_phrase_where_nothing_can_be_pruned():
    random = np.random.default_rng(0)
    lines = [[" ".join(random.choice(list("abcdefgh"), 60)) for _ in range(2)] for _ in range(2)]
    teacher = LexicalTeacher.learn(
        UnitCorpus.of_text(*lines), replace(SETTINGS, phrase_iterations=1)
    )
    taught = teacher.teach()
    assert taught.without_derivation == 0
    for sentence in range(2):
        assert taught.best_derivation(sentence).phrases == [PhrasePair((0, 60), (0, 60))]
        assert taught.best_log_prob(sentence) == 0.0
        assert taught.drawn_derivation(sentence, 0) is None


def test_full_stops_do_not_drift():
    """Two phrases change places before a full stop, which stays where it is on both sides."""
    nouns, verbs = "abcdef", "uvwxyz"
    source = [f"{noun} {verb} ." for noun in nouns for verb in verbs]
    target = [f"{verb.upper()} {noun.upper()} 。" for noun in nouns for verb in verbs]
    taught = LexicalTeacher.learn(UnitCorpus.of_text(source, target), SETTINGS).teach()
    for sentence in range(len(source)):
        for phrases in (2, 3):
            for pair in taught.best_derivation(sentence, phrases).phrases:
                assert (pair.source[1] == 3) == (pair.target[1] == 3)
        for draw in range(taught.count):
            for pair in taught.drawn_derivation(sentence, draw).phrases:
                assert (pair.source[1] == 3) == (pair.target[1] == 3)


def test_last_words_are_no_full_stops():
    """The last words of both sides are not tied, even if they translate each other."""
    teacher = LexicalTeacher.learn(UnitCorpus.of_text(["a b c"] * 2, ["x y c"] * 2), SETTINGS)
    assert np.isfinite(dense_scores(teacher, 0)[-1, 0, 1])
    tied = LexicalTeacher.learn(UnitCorpus.of_text(["a b !"] * 2, ["x y ?"] * 2), SETTINGS)
    assert dense_scores(tied, 0)[-1, 0, 1] == -np.inf


@pytest.mark.parametrize(("rate", "most_frequent"), [(0.01, 3), (0.99, 2)])
def test_draws_may_have_a_rate_of_their_own(corpus, teacher, rate, most_frequent):
    """It changes how often numbers of phrases are drawn, and nothing else."""
    settings = replace(SETTINGS, drawn_rate=rate, draws=200)
    taught = replace(teacher, settings=settings).teach()
    np.testing.assert_array_equal(taught.best, teacher.teach().best)
    sentence = int(np.flatnonzero(corpus.most_phrases(3) == 3)[0])
    drawn = [taught.drawn_derivation(sentence, draw) for draw in range(200)]
    counts = np.bincount([len(one.phrases) for one in drawn], minlength=4)
    assert counts.argmax() == most_frequent
    chart = BitextChart(dense_scores(teacher, sentence), 3, teacher.log_orders)
    for draw, derivation in enumerate(drawn[:20]):
        expected = chart.tree_log_prob(derivation.tree)
        assert taught.log_density(sentence, draw) == pytest.approx(expected, abs=1e-5)


def test_long_pairs_learn_from_short_ones(monkeypatch):
    """Recurring phrase pairs come from short sentence pairs, and are looked for in long ones."""
    corpus = toy_corpus(80)
    monkeypatch.setattr(module, "LEARNED_SIZE", 6)
    monkeypatch.setattr(module, "LEARNED_WORK", 2 * 6**2)
    teacher = LexicalTeacher.learn(corpus, SETTINGS)
    sizes = corpus.source.units * corpus.target.units
    assert (sizes[teacher._is_used] > 6).any()
    counts = teacher.counts
    sentences = np.repeat(np.arange(len(corpus)), np.diff(counts.ends))
    is_long = sizes[sentences] > 6
    assert is_long.any()
    assert (counts.expected[is_long] == 0).all()
    for place in np.flatnonzero(is_long):
        i, k, a, c = counts.cells[place]
        score = phrase_score(teacher, sentences[place], i, k, a, c)
        assert np.isfinite(score)
    monkeypatch.setattr(module, "LEARNED_WORK", len(corpus) * sizes.max() ** 2)
    assert LexicalTeacher.learn(corpus, SETTINGS)._is_learned.sum() == teacher._is_used.sum()


def test_tables_know_nothing_of_pairs_that_are_too_long():
    """A line of 200,000 words would need more memory than there is."""
    lines = ["a b", "b", "a b c " * 70_000]
    teacher = LexicalTeacher.learn(UnitCorpus.of_text(lines, lines), SETTINGS)
    assert len(teacher.tables.source_words) == 2
    assert teacher.teach().best_derivation(1) is not None
    assert teacher.teach().best_derivation(2) is None
