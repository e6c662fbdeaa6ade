"""What the README and the demo show must work as they show it."""

import re
from pathlib import Path

import pytest

from btg_seq2seq.cli import demo

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md"])
def test_python_examples_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, page, "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/benchmarks.md"])
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert target.startswith("https://") or (path.parent / target).exists(), target


def test_contributing_names_every_module() -> None:
    layout = (ROOT / "CONTRIBUTING.md").read_text()
    modules = (ROOT / "btg_seq2seq").rglob("*.py")
    assert [m.name for m in modules if m.name not in layout and m.name != "__init__.py"] == []


def test_the_demo_finds_the_phrases_of_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    demo.main()
    output = capsys.readouterr().out
    assert "遇见 了 她的 朋友 -> met her friend" in output
    assert str(demo.WANTED) in output
