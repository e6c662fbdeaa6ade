"""Sphinx builds the documentation site with this: ``make docs``.

The pages are those that GitHub shows. What only the site needs is here: the reference of commands,
written from their help; and links to files of the repository that are no pages, which become
downloads, or plain text where they lead to directories. Nothing is fetched, at build or view time.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from btg_seq2seq import __version__  # noqa: E402
from btg_seq2seq.cli.commands import COMMANDS  # noqa: E402
from btg_seq2seq.cli.main import main  # noqa: E402

project = "btg-seq2seq"
author = "the authors of btg-seq2seq"
project_copyright = author
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["results/**", "images/*.py", "conf.py", "_build/**"]
html_theme = "furo"
html_title = f"btg-seq2seq {__version__}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}
highlight_language = "text"
pygments_style, pygments_dark_style = "friendly", "github-dark"
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Names of Python and of other libraries have no pages here, and neither do our own private ones.
nitpicky = False
suppress_warnings = ["misc.highlighting_failure"]

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
PAGES_ELSEWHERE = {
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../README.md": "index.md",
}


class CommandHelp(Directive):
    """``{commands}``: the help of every command, with a heading each."""

    def run(self) -> list[nodes.Node]:
        """Write the sections."""
        self.state.document.settings.env.note_reread()  # the help changes without the page
        found: list[nodes.Node] = []
        for name, command in COMMANDS.items():
            section = nodes.section(ids=[f"btg-{name}"], names=[f"btg {name}"])
            section += nodes.title(text=f"btg {name}")
            about = command.description
            section += nodes.paragraph(text=f"{about[0].upper()}{about[1:]}.")
            section += nodes.literal_block(help_of(name), help_of(name), language="text")
            found.append(section)
        return found


def help_of(command: str) -> str:
    """Return what ``btg COMMAND --help`` prints on a terminal of 88 columns."""
    os.environ["COLUMNS"] = "88"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([command, "--help"])
    return printed.getvalue().strip()


def for_the_site(text: str, directory: Path = HERE) -> str:
    """Change links that lead out of docs/: to the site's page, a download, or plain text."""

    def changed(match: re.Match[str]) -> str:
        label, target, anchor = match[1], match[2], match[3] or ""
        if target in PAGES_ELSEWHERE:
            return f"[{label}]({PAGES_ELSEWHERE[target]}{anchor})"
        place = (directory / target).resolve()
        if place.is_dir():
            return label
        if "://" in target or place.is_relative_to(HERE):
            return match[0]
        return f"{{download}}`{label} <{target}>`"

    return LINK.sub(changed, text)


def read_page(app: Sphinx, name: str, content: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    content[0] = for_the_site(content[0])


def included(app: Sphinx, path: Path, name: str, content: list[str]) -> None:
    """Change the text of an included file, whose links start at the root of the repository."""
    text = content[0].replace("](docs/", "](").replace("](CHANGELOG.md", "](changelog.md")
    content[0] = re.sub(r"\]\((?!https?://|#)(?![\w-]+\.md)([^)]*)\)", r"](../\1)", text)
    content[0] = for_the_site(content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the changes of links."""
    app.add_directive("commands", CommandHelp)
    app.connect("source-read", read_page)
    app.connect("include-read", included)
    return {"parallel_read_safe": True}
