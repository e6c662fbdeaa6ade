"""Rules go into files of every format, and come back as they were; hostile files are refused."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.glossaries.glossary import (
    format_of,
    parse_glossary,
    read_glossary,
    write_glossary,
)
from btg_seq2seq.translation.rules.rules import Rule

WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="|\ufffe\uffff"),
    max_size=9,
).filter(lambda text: text.split())
RULES = st.lists(
    st.one_of(
        st.builds(
            Rule,
            WORDS,
            st.lists(WORDS, min_size=1, max_size=3),
            st.sampled_from(["force", "prefer"]),
            st.sampled_from(["sensitive", "insensitive", "follow"]),
        ),
        st.builds(Rule, WORDS, mode=st.just("keep")),
    ).filter(lambda rule: rule.targets != (rule.source,)),
    min_size=1,
    max_size=5,
)


def without_place(rules):
    return [Rule(rule.source, rule.target, rule.mode, rule.case) for rule in rules]


@pytest.mark.parametrize("form", ["tsv", "csv", "tbx", "tmx"])
@given(rules=RULES)
def test_what_is_written_is_read(form, rules):
    content = write_glossary(rules, form, "de", "pt-BR")
    assert without_place(parse_glossary(content, form, "de", "pt")) == rules


@pytest.mark.parametrize("form", ["tsv", "csv", "tbx", "tmx"])
def test_several_forms_of_the_source_are_one_entry(form):
    rules = [Rule(form, ["house", "home"], place="a:1") for form in ("Haus", "Hauses")]
    content = write_glossary([*rules, Rule("Baum", "tree", place="a:2")], form, "de", "en")
    assert len(without_place(parse_glossary(content, form, "de", "en"))) == 3
    assert content.count(b"home") == 1


def test_files_by_name(tmp_path):
    path = tmp_path / "terms.tmx.gz"
    path.write_bytes(gzip.compress(write_glossary([Rule("a", "b")], "tmx", "de", "en")))
    assert without_place(read_glossary(path)) == [Rule("a", "b")]
    table = tmp_path / "terms.csv"
    table.write_text("Haus ||| Hauses,house\n")
    assert without_place(read_glossary(table, case="follow")) == [
        Rule("Haus", "house", case="follow"),
        Rule("Hauses", "house", case="follow"),
    ]
    names = ("x.tsv", "x.CSV", "x.tbx", "x.tmx", "x.csv.gz", "x", "x.txt")
    assert [format_of(name) for name in names] == ["tsv", "csv", "tbx", "tmx", "csv", "tsv", "tsv"]
    with pytest.raises(UserError, match="there is no such file"):
        read_glossary(tmp_path / "missing.tbx")
    (tmp_path / "x.tbx.gz").write_bytes(b"no gzip")
    with pytest.raises(UserError, match="cannot be read"):
        read_glossary(tmp_path / "x.tbx.gz")


@pytest.mark.parametrize(
    ("content", "form", "message"),
    [
        (b"", "tbx", "g: this is no XML"),
        (b"<tbx/>", "tbx", "there are no terms"),
        (b"\xff\tb", "tsv", "line 1 is not UTF-8"),
        (b"x", "xlsx", "the format is tsv, csv, tbx or tmx"),
    ],
)
def test_what_is_no_glossary(content, form, message):
    with pytest.raises(UserError, match=message):
        parse_glossary(content, form, name="g")


def test_a_language_is_a_code():
    with pytest.raises(UserError, match="no code of a language"):
        write_glossary([], "tmx", "d<e", "en")
