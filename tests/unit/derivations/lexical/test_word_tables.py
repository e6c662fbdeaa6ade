"""Word-translation tables against a plain implementation of IBM model 1."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btg_seq2seq.derivations.lexical import UnitCorpus, UnitSide, WordTables
from btg_seq2seq.derivations.lexical import word_tables as module
from btg_seq2seq.derivations.lexical.word_tables import SMOOTHING

SENTENCES = st.lists(st.lists(st.integers(3, 7), max_size=4), min_size=1, max_size=4)


def corpus_of(sources, targets):
    sides = (
        UnitSide.of(rows, [range(len(row) + 1) for row in rows]) for rows in (sources, targets)
    )
    return UnitCorpus(*sides)


def reference(sources, targets, iterations, agreement):
    """t(y | x), t(x | y) as dictionaries; None is the empty word."""
    xs, ys = ([word for row in rows for word in row] for rows in (sources, targets))
    tables = []
    for read, written in ((xs, ys), (ys, xs)):
        rates = {word: written.count(word) / len(written) for word in written}
        table = {(x, y): 1 / len(rates) for x in set(read) for y in rates}
        tables.append(table | {(None, y): rate for y, rate in rates.items()})
    rates = [dict(item) for item in tables]
    for step in range(iterations):
        counts = [dict.fromkeys(table, 0.0) for table in tables]
        for row, other in zip(sources, targets, strict=True):
            links = []
            for table, read, written in ((tables[0], row, other), (tables[1], other, row)):
                totals = [sum(table[x, y] for x in [*read, None]) for y in written]
                links.append(
                    [
                        [table[x, y] / totals[j] for j, y in enumerate(written)]
                        for x in [*read, None]
                    ]
                )
            for i, x in enumerate(row):
                for j, y in enumerate(other):
                    one, two = links[0][i][j], links[1][j][i]
                    if agreement and step > 0:
                        one = two = one * two
                    counts[0][x, y] += one
                    counts[1][y, x] += two
            for j, y in enumerate(other):
                counts[0][None, y] += links[0][-1][j]
            for i, x in enumerate(row):
                counts[1][None, x] += links[1][-1][i]
        for side, found in enumerate(counts):
            sums = {}
            for (x, _), count in found.items():
                sums[x] = sums.get(x, 0.0) + count
            for x, y in found:
                value = found[x, y] / sums[x] if sums[x] > 0 else 0.0
                if x is None:
                    rate = rates[side][None, y]
                    value = (1 - SMOOTHING) * value + SMOOTHING * rate if sums[x] > 0 else rate
                tables[side][x, y] = value
    return tables


@settings(max_examples=30, deadline=None)
@given(SENTENCES, st.data(), st.integers(1, 4), st.booleans())
def test_tables_are_those_of_a_plain_implementation(sources, data, iterations, agreement):
    size = len(sources)
    targets = data.draw(
        st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=size, max_size=size)
    )
    if not any(sources) or not any(targets):
        return
    tables = WordTables.estimate(corpus_of(sources, targets), iterations, agreement)
    forward, backward = reference(sources, targets, iterations, agreement)
    together = {
        (x, y) for row, other in zip(sources, targets, strict=True) for x in row for y in other
    }
    assert len(tables.columns) == len(together)
    for x, y in together:
        found = tables.probability(x, y)
        assert found == pytest.approx((forward[x, y], backward[y, x]), rel=1e-9, abs=1e-12)
    for number, x in enumerate(tables.source_words.tolist()):
        assert tables.empty_source[number] == pytest.approx(backward[None, x])
    for number, y in enumerate(tables.target_words.tolist()):
        assert tables.empty_target[number] == pytest.approx(forward[None, y])


@given(SENTENCES, st.integers(1, 6))
def test_tables_do_not_depend_on_chunks(sources, size):
    targets = [row[::-1] for row in sources]
    if not any(sources):
        return
    expected = vars(WordTables.estimate(corpus_of(sources, targets)))
    with patch.object(module, "CHUNK", size):
        found = vars(WordTables.estimate(corpus_of(sources, targets)))
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_unknown_words_have_no_number():
    tables = WordTables.estimate(corpus_of([[5, 9]], [[2]]))
    numbers = tables.numbered(corpus_of([[9, 6, 5, 10]], [[1, 2, 3]]))
    assert [side.tolist() for side in numbers] == [[1, -1, 0, -1], [-1, 0, -1]]
    assert tables.probability(6, 2) == (0.0, 0.0)


def test_damaged_arrays_are_no_tables():
    tables = WordTables.estimate(corpus_of([[5, 9], [5]], [[2], [3]]))
    arrays = vars(tables)
    assert WordTables.checked(arrays).forward is tables.forward
    assert WordTables.checked(None) is None
    for name, array in arrays.items():
        assert WordTables.checked({**arrays, name: array[:-1]}) is None
        assert WordTables.checked({**arrays, name: array.astype(np.float32)}) is None
    assert WordTables.checked({**arrays, "columns": tables.columns + 9}) is None


def test_progress_is_shown():
    shown = []

    def track(items, description):
        shown.append(description)
        return iter(items)

    WordTables.estimate(corpus_of([[1]], [[1]]), track=track)
    assert shown == ["word-translation tables"]
