"""Plain English: docstrings are noun phrases or imperatives, and some old habits do not return."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "btg_seq2seq").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
# How a docstring does not begin.
QUESTIONS = ("What ", "Whether ", "How ", "Where ", "Which ")
HABITS = re.compile(
    r"\b(is|are|be) told\b|\bso many\b|\banew\b|\bof like length|\bnothing: |but for (?!the fact)"
    r"|\b(nats|tokens|phrases|one|a batch|means) a (sentence|step|line|token|tree|split)\b"
    r"|\bunless told otherwise|\bmay be another than\b",
    re.IGNORECASE,
)


def docstrings(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


def test_docstrings_are_no_questions():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in SOURCES
        for line, text in docstrings(path)
        if text.startswith(QUESTIONS)
    ]
    assert found == []


def test_old_habits_do_not_return():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*SOURCES, *PAGES]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if HABITS.search(line)
    ]
    assert found == []
