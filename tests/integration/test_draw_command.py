"""``btg draw`` and ``btg translate --explain`` as a person types them."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pictures import HOSTILE, example

from btg_seq2seq import Rule
from btg_seq2seq.cli.main import main
from btg_seq2seq.drawing.diagram import MOST_PHRASES
from btg_seq2seq.drawing.drawing import draw

SHORT = ["--beam-size", "3", "--max-output-ratio", "1", "--max-output-extra", "2"]
HOUSE = example([("das", "the"), ("Haus", "house")], [0, 1])


@pytest.fixture
def drawn(capsys, monkeypatch, tmp_path):
    """Draw translations: exit status and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(translations, *arguments):
        lines = [one if isinstance(one, str) else json.dumps(one.to_json()) for one in translations]
        Path("in.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")
        capsys.readouterr()
        status = main(["draw", "in.jsonl", *map(str, arguments)])
        captured = capsys.readouterr()
        assert captured.out == ""
        return status, captured.err

    return run


def test_a_page_a_picture_and_a_file_for_every_line(drawn):
    assert drawn([HOUSE, "", HOSTILE], "all.html") == (0, "")
    assert Path("all.html").read_text(encoding="utf-8").count("<section") == 2
    assert drawn([HOUSE, "", HOSTILE], "new/{}.svg") == (0, "")
    assert {path.name for path in Path("new").iterdir()} == {"1.svg", "3.svg"}
    assert Path("new/1.svg").read_text(encoding="utf-8") == draw(HOUSE).svg
    assert drawn([HOUSE], "one.svg", "--view", "matrix", "--theme", "dark") == (0, "")
    assert Path("one.svg").read_text(encoding="utf-8") == draw(HOUSE, "matrix", "dark").svg


def test_png(drawn):
    pytest.importorskip("resvg_py", reason="pip install resvg-py for PNG")
    assert drawn([HOUSE], "one.png", "--scale", "1.5") == (0, "")
    assert Path("one.png").read_bytes() == draw(HOUSE).png(1.5)


def test_what_cannot_be_drawn_is_named(drawn):
    large = example([("a", "b")] * (MOST_PHRASES + 1), [*range(MOST_PHRASES + 1)])
    wrong = HOUSE.to_json() | {"derivation": {"tree": "[0:1 1:2", "phrases": []}}
    strange = HOUSE.to_json() | {"text": 3}
    status, errors = drawn(["a sentence"], "x.svg")
    assert errors.endswith("; give --model to draw sentences\n")
    for lines, message in [
        (["{"], "in.jsonl: line 1 is not JSON"),
        (["", '{"source": "a"}'], "in.jsonl: line 2 is no translation or alignment: there is no"),
        ([json.dumps(wrong)], "in.jsonl: line 1 is no translation or alignment: '[0:1 1:2'"),
        ([json.dumps(strange)], "in.jsonl: line 1: 'text' must be a text, not int"),
        ([HOUSE, large], "in.jsonl: line 2: the derivation has 201 phrases, but no more than 200"),
        (
            [HOUSE, HOUSE],
            "in.jsonl: line 2: more than one picture for x.svg; write a file for each",
        ),
        ([""], "in.jsonl has nothing to draw"),
    ]:
        status, errors = drawn(lines, "x.svg")
        assert status == 1
        assert errors.startswith(f"btg draw: {message}")
        assert len(errors.splitlines()) == 1
        assert not Path("x.svg").exists()
    status, errors = drawn([HOUSE], "in.jsonl/{}.svg")
    assert status == 1
    assert len(errors.splitlines()) == 1


def test_lines_without_derivation_are_skipped(drawn):
    empty = json.dumps({**HOUSE.to_json(), "source": "", "text": "", "derivation": None})
    assert drawn([empty, HOUSE], "x.svg") == (0, "btg draw: line 1 has no derivation\n")
    assert drawn([empty, HOUSE], "x.svg", "--quiet") == (0, "")
    assert drawn([empty], "{}.svg") == (
        1,
        "btg draw: line 1 has no derivation\nbtg draw: in.jsonl has nothing to draw\n",
    )


def test_from_the_commands_of_a_model(run, files, capsys, model):
    """What translate and align write can be drawn, and so can text with a model."""
    rule = ["--rule", "Haus=house"]
    _, lines, _ = run("translate", "source.txt", "--format", "jsonl", *rule, *SHORT)
    Path("out.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["draw", "out.jsonl", "a/{}.svg", "--quiet"]) == 0
    _, lines, _ = run("align", "source.txt", "target.txt", "--format", "json")
    Path("aligned.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["draw", "aligned.jsonl", "b/{}.svg", "--quiet"]) == 0
    text = ["draw", "source.txt", "c/{}.svg", "--model", model, *rule, *SHORT]
    assert main([*text, "--quiet"]) == 0
    for directory in "abc":
        assert {path.name for path in Path(directory).iterdir()} == {"1.svg", "3.svg"}
        for path in Path(directory).iterdir():
            ElementTree.parse(path)
    for name in ("1.svg", "3.svg"):
        assert Path("a", name).read_text() == Path("c", name).read_text()
    assert ">rule<" in Path("a/3.svg").read_text()
    capsys.readouterr()
    assert main([*text[:-2], "--rule", "never=x"]) == 0
    assert "matched nothing" in capsys.readouterr().err


def test_explain(run, files):
    status, lines, _ = run("translate", "source.txt", "--explain", "--rule", "Haus=house", *SHORT)
    assert status == 0
    assert any(" rule " in line or "(rule)" in line for line in lines)
    _, plain, _ = run("translate", "source.txt", "--explain", *SHORT)
    assert any("╭ 1 ─" in line for line in plain)
    assert not any("\x1b" in line for line in lines)
    _, flat, _ = run("translate", "source.txt", "--explain", "--mode", "flat", *SHORT)
    assert not any("╭ 2 ─" in line for line in flat)
    _, cky, _ = run("translate", "source.txt", "--mode", "cky", *SHORT)
    assert plain[0].startswith(cky[0])


def test_explain_is_as_wide_as_the_terminal(run, files, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((50, 20)))
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.delenv("NO_COLOR", raising=False)
    _, lines, _ = run("translate", "source.txt", "--explain", "--quiet", *SHORT)
    assert any("\x1b[" in line for line in lines)
    monkeypatch.setenv("NO_COLOR", "1")
    _, lines, _ = run("translate", "source.txt", "--explain", "--quiet", *SHORT)
    assert not any("\x1b[" in line for line in lines)
    assert max(map(len, lines)) <= 50


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers())


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_lines_are_drawn_or_refused_in_one_line(drawn, data):
    """One value of a line is replaced by anything that JSON can hold."""
    value = example([("a", "b"), ("c d", "e f")], [1, 0], {1: Rule("c d", "e f")}).to_json()
    place = value
    while True:
        key = data.draw(st.sampled_from([*place] if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[key] = data.draw(VALUES)
    status, errors = drawn([json.dumps(value)], "x.html")
    assert len(errors.splitlines()) == status or "no derivation" in errors
