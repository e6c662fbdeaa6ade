"""Batches have every row once and keep to the budget."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.decoding.search.batches import most_rows, pass_batches, search_batches
from btg_seq2seq.model.decoding_settings import DecodingSettings


@pytest.mark.parametrize("batches_of", [search_batches, pass_batches])
@given(
    st.lists(st.integers(1, 60), max_size=40), st.sampled_from([1, 5]), st.sampled_from([1, 300])
)
def test_batches_have_every_row_once_and_keep_to_the_budget(batches_of, lengths, beam_size, budget):
    settings = DecodingSettings(beam_size, batch_tokens=budget)
    batches = list(batches_of(lengths, settings))
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    for rows in batches:
        longest = max(lengths[row] for row in rows)
        assert len(rows) == 1 or len(rows) * longest * beam_size <= budget
    firsts = [lengths[rows[0]] for rows in batches]
    assert firsts == sorted(firsts, reverse=True)
    assert [*batches] == [*batches_of(lengths, settings)]
    assert all(len(rows) <= 2 for rows in search_batches(lengths, settings, most=2))


def test_large_vocabularies_have_few_rows():
    backbone = SimpleNamespace(vocabulary_size=256_000)
    rows = most_rows(backbone, DecodingSettings(beam_size=5))
    assert 4 * 256_000 * 5 * rows <= 2**28 < 4 * 256_000 * 5 * (rows + 1)  # bytes
    assert most_rows(backbone, DecodingSettings(beam_size=1000)) == 1


def test_a_pass_does_not_pad_short_rows_to_long_ones():
    lengths = [40] * 20 + [2] * 20
    settings = DecodingSettings(batch_tokens=10**6)
    assert list(pass_batches(lengths, settings)) == [list(range(20)), list(range(20, 40))]
    # but passes have a price too
    assert len([*pass_batches([40, 39, 38], settings)]) == 1


def test_a_search_takes_all_rows_that_fit():
    settings = DecodingSettings(batch_tokens=10**6)
    assert list(search_batches([2, 40, 3], settings)) == [[1, 2, 0]]
