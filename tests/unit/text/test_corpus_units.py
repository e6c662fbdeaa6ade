"""Units of a whole bitext: the same as those of its sentences, one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.text.batches import TokenTable
from btg_seq2seq.text.corpus_units import CorpusUnits
from btg_seq2seq.text.units import fenceposts_of, unit_table
from tests.unit.text.test_units import TOKENIZERS

TABLE = unit_table(TOKENIZERS["bpe"])


@given(
    rows=st.lists(st.lists(st.integers(0, len(TABLE) - 1), min_size=1, max_size=6), max_size=5),
    frame=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    has_table=st.booleans(),
)
def test_sentences(rows, frame, has_table):
    prefix, suffix = frame
    table = TABLE if has_table else None
    tokens = TokenTable()
    for row in rows:
        tokens.append([7] * prefix + row + [9] * suffix)
    units = CorpusUnits.of(tokens, table, prefix, suffix)
    assert len(units.lengths) == len(rows)
    for sentence, row in enumerate(rows):
        posts = fenceposts_of(table, row)
        assert units.lengths[sentence] == len(posts) - 1
        assert [token for unit in units[sentence] for token in unit] == row
        places = units.positions(np.full(len(posts), sentence), np.arange(len(posts)))
        assert places.tolist() == posts
