"""Tables beside a model: what is read is what was written, or refused in one line."""

import math
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from btg_seq2seq.derivations.lexical import UnitCorpus, UnitSide, WordTables
from btg_seq2seq.derivations.lexical.saved_tables import (
    lexical_scores,
    likely,
    load_tables,
    save_tables,
)
from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import LEXICAL_FILE

SENTENCES = [[3, 4, 5], [4, 6], [7, 3, 3], [5]]
OTHERS = [[8, 9], [9, 10, 8], [10], [11, 8]]


def tables_of(sources=SENTENCES, targets=OTHERS):
    sides = (
        UnitSide.of(rows, [range(len(row) + 1) for row in rows]) for rows in (sources, targets)
    )
    return WordTables.estimate(UnitCorpus(*sides), 4)


def test_what_was_written_is_read(tmp_path):
    tables = tables_of()
    save_tables(tables, tmp_path)
    found = load_tables(tmp_path, 12)
    for x in range(3, 8):
        for y in range(8, 12):
            expected = tables.probability(x, y)
            if max(expected) >= 1e-4:
                assert found.probability(x, y) == pytest.approx(expected, rel=1e-6)
            else:
                assert found.probability(x, y) == (0.0, 0.0)
    assert found.empty_target == pytest.approx(tables.empty_target, rel=1e-6)
    assert load_tables(tmp_path / "elsewhere") is None
    with pytest.raises(UserError, match="has the token 11, but the vocabulary of the model has 11"):
        load_tables(tmp_path, 11)


words = st.lists(st.integers(2, 12), max_size=4)


@given(st.lists(st.tuples(words, st.lists(words, max_size=3)), min_size=1, max_size=4))
def test_scores_are_those_of_the_definition(phrases):
    tables = likely(tables_of())
    strings = [(rank, x, y) for rank, (x, own) in enumerate(phrases) for y in own]
    sides = [[x for x, _ in phrases], [y for _, _, y in strings]]
    packed = [
        (np.array([*chain(*rows)], np.int64), np.array([*map(len, rows)], np.int64))
        for rows in sides
    ]
    found = lexical_scores(tables, *packed, [rank for rank, _, _ in strings])
    known = [
        dict(zip(own.tolist(), empty, strict=True))
        for own, empty in (
            (tables.source_words, tables.empty_source),
            (tables.target_words, tables.empty_target),
        )
    ]
    for row, (_, xs, ys) in zip(found, strings, strict=True):
        forward = sum(
            math.log(
                0.98 * sum(tables.probability(x, y)[0] for x in xs) / max(len(xs), 1)
                + 0.02 * known[1].get(y, 1e-7)
            )
            for y in ys
        )
        backward = sum(
            math.log(
                0.98 * sum(tables.probability(x, y)[1] for y in ys) / max(len(ys), 1)
                + 0.02 * known[0].get(x, 1e-7)
            )
            for x in xs
        )
        assert row == pytest.approx([forward, backward])


def changed(name, change):
    def damage(path):
        arrays = load_file(path)
        arrays[name] = np.ascontiguousarray(change(arrays[name]))
        save_file(arrays, path)

    return damage


def without_an_array(path):
    arrays = load_file(path)
    del arrays["forward"]
    save_file(arrays, path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b"\xff" * 100),
        without_an_array,
        changed("columns", lambda a: a + 100),
        changed("columns", lambda a: a - 1),
        changed("columns", lambda a: a[::-1]),
        changed("columns", lambda a: a.astype(np.int64)),
        changed("begins", lambda a: a[::-1]),
        changed("begins", lambda a: a * 2),
        changed("begins", lambda a: a[:0]),
        changed("forward", lambda a: a * np.nan),
        changed("forward", lambda a: a - 1),
        changed("forward", lambda a: a[:-1]),
        changed("backward", lambda a: a + 2),
        changed("backward", lambda a: a[:, None]),
        changed("empty_target", lambda a: a * 0),
        changed("empty_source", lambda a: a[:1]),
        changed("source_words", lambda a: a[::-1]),
        changed("source_words", lambda a: a - 100),
        changed("target_words", lambda a: a * 0),
        changed("target_rates", lambda a: a + np.inf),
    ],
)
def test_anything_else_is_refused_in_one_line(tmp_path, damage):
    save_tables(tables_of(), tmp_path)
    damage(tmp_path / LEXICAL_FILE)
    with pytest.raises(UserError, match=rf"{LEXICAL_FILE}.*btg tune") as caught:
        load_tables(tmp_path, 12)
    assert "\n" not in str(caught.value)
