"""The documentation site: every page has its place, nothing is broken, and nothing is fetched."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from btg_seq2seq.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OUTSIDE = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"')


def entries():
    """The pages of the navigation, in order."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def test_every_page_is_in_the_navigation_once():
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert len(entries()) == len(set(entries()))
    assert set(entries()) == pages


@pytest.fixture(scope="module")
def conf():
    pytest.importorskip("sphinx", reason="the site needs the extra docs: pip install '.[docs]'")
    spec = importlib.util.spec_from_file_location("docs_conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a](training.md#report)", "[a](training.md#report)"),
        ("[a](https://example.org)", "[a](https://example.org)"),
        ("![a](images/matrix.svg)", "![a](images/matrix.svg)"),
        ("[code](../btg_seq2seq/text)", "code"),
        ("[a](../pyproject.toml)", "{download}`a <../pyproject.toml>`"),
        ("[a](../CONTRIBUTING.md#testing)", "[a](contributing.md#testing)"),
    ],
)
def test_links_that_leave_the_documentation(conf, link, expected):
    assert conf.for_the_site(f"see {link}.") == f"see {expected}."


def test_the_site_is_built_without_warnings_and_fetches_nothing(conf, tmp_path):
    built = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"),
            *("-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "site")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    pages = list((tmp_path / "site").glob("*.html"))
    assert len(pages) > len(entries())
    fetched = {page.name: OUTSIDE.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name for name, found in fetched.items() if found} == set()
    styles = (tmp_path / "site").rglob("*.css")
    assert [path for path in styles if re.search(r"url\(.?(https?:)?//", path.read_text())] == []
    commands = (tmp_path / "site" / "commands.html").read_text(encoding="utf-8")
    assert all(f'id="btg-{name}"' in commands for name in COMMANDS)
    assert "btg_seq2seq.Translator.translate" in (tmp_path / "site" / "api.html").read_text()
