"""``btg translate`` for documents, markup and glossaries, as a person types it."""

from pathlib import Path

import pytest

from btg_seq2seq import Rule
from btg_seq2seq.translation.glossaries.glossary import write_glossary

SHORT = ["--beam_size", "3", "--max_output_ratio", "1", "--max_output_extra", "2"]


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_markup_by_lines(run, tmp_path, mode):
    Path("page.txt").write_text("<b>the</b> {dog} saw\n\nthe %s&nbsp;\n", encoding="utf-8")
    options = ["--markup", "html", "--mode", mode, *SHORT]
    status, output, _ = run("translate", "page.txt", *options)
    assert status == 0
    assert len(output) == 3
    for part in ("<b>", "</b>", "{dog}"):
        assert output[0].count(part) == 1
    assert output[1] == ""
    assert output[2].count("%s") == output[2].count("&nbsp;") == 1


def test_a_document_keeps_its_white_space(run, tmp_path):
    Path("text.txt").write_bytes(b"  The dog saw. It saw.\r\n\r\n\tthe dog {x}")
    options = ["--document", "lines", "--source-language", "en", *SHORT]
    status, output, _ = run("translate", "text.txt", "--output-file", "out.txt", *options)
    assert (status, output) == (0, [])
    found = Path("out.txt").read_bytes()
    assert found.startswith(b"  ")
    assert b"\r\n\r\n\t" in found
    assert b"{x}" in found
    assert not found.endswith(b"\n")


@pytest.mark.parametrize("form", ["tbx", "tmx", "csv"])
def test_glossaries_are_rules(run, tmp_path, form):
    path = Path(f"terms.{form}")
    rules = [Rule("THE DOG", "Hund", case="insensitive")]
    path.write_bytes(write_glossary(rules, form, "en", "de"))
    Path("text.txt").write_text("the dog saw\n", encoding="utf-8")
    status, output, _ = run("translate", "text.txt", "--rules", str(path), *SHORT)
    assert status == 0
    assert "Hund" in output[0]


def test_refusals(run, tmp_path):
    Path("text.txt").write_text("the dog\n", encoding="utf-8")
    for options in (["--nbest", "2"], ["--format", "jsonl"], ["--explain"]):
        status, _, error = run("translate", "text.txt", "--markup", "html", *options)
        assert status == 2
        assert "--markup writes the text alone" in error
    status, _, error = run("translate", "text.txt", "--document", "lines", "--input", "jsonl")
    assert status == 2
    assert "not JSON lines" in error
    Path("terms.tbx").write_text("<!DOCTYPE r [<!ENTITY x 'y'>]><r/>", encoding="utf-8")
    status, _, error = run("translate", "text.txt", "--rules", "terms.tbx")
    assert status == 1
    assert "it declares entities" in error
