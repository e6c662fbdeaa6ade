"""The alignment error rate, against its definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.alignment_error import GoldAlignment, alignment_score, parse_links

LINKS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


def test_links_are_read():
    assert parse_links("1-1 2p3  1-2\n", "gold:1", first=1) == GoldAlignment(
        frozenset({(0, 0), (0, 1)}), frozenset({(0, 0), (0, 1), (1, 2)})
    )
    assert parse_links("", "gold:1") == GoldAlignment(frozenset(), frozenset())


@pytest.mark.parametrize("text", ["1:2", "-1-2", "1-", "1-2-3", "٣-1", "1" * 5000 + "-1"])
def test_bad_links_are_refused(text):
    with pytest.raises(UserError, match=r"gold:7: .* is not a link such as 2-3"):
        parse_links(f"1-1 {text}", "gold:7")


def test_words_before_the_first_are_refused():
    with pytest.raises(UserError, match="gold:7: the link 0-1 has a word before the first, 1"):
        parse_links("0-1", "gold:7", first=1)


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), max_size=4))
def test_rates_are_those_of_the_definition(rows):
    found = [row[0] for row in rows]
    gold = [GoldAlignment(sure, sure | others) for _, sure, others in rows]
    score = alignment_score(found, gold)
    count = sum(map(len, found))
    sure = sum(len(one.sure) for one in gold)
    links = [(link, one) for each, one in zip(found, gold, strict=True) for link in each]
    in_sure = sum(link in one.sure for link, one in links)
    in_possible = sum(link in one.possible for link, one in links)
    if count:
        assert score.precision == pytest.approx(100 * in_possible / count)
    if sure:
        assert score.recall == pytest.approx(100 * in_sure / sure)
    if count + sure:
        error = 1 - (in_sure + in_possible) / (count + sure)
        assert score.error_rate == pytest.approx(100 * error)


def test_perfect_and_empty():
    gold = [parse_links("0-0 1p1", "gold")]
    assert alignment_score([[(0, 0)]], gold).error_rate == 0
    assert alignment_score([[]], gold).error_rate == 100
    assert alignment_score([], []).error_rate == 0
    with pytest.raises(UserError, match="1 alignments, but 0 gold alignments"):
        alignment_score([[]], [])
