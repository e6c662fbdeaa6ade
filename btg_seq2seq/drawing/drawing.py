"""A drawing of a derivation: SVG, HTML and PNG, for files and notebooks."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from btg_seq2seq.drawing.colours import ThemeName, hover_rules, scope_of, style_sheet
from btg_seq2seq.drawing.description import description_of, title_of
from btg_seq2seq.drawing.diagram import Diagram
from btg_seq2seq.drawing.matrix_view import MatrixView
from btg_seq2seq.drawing.svg import element, escaped
from btg_seq2seq.drawing.tree_view import TreeView
from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.translation import Translation

View = Literal["tree", "matrix"]
VIEWS: dict[str, type[TreeView] | type[MatrixView]] = {"tree": TreeView, "matrix": MatrixView}
SUFFIXES = (".svg", ".html", ".png")
FITTING = 0.5  # share of its size at which a picture that fits can still be read


@dataclass(frozen=True)
class Drawing:
    """A picture of a derivation.

    Args:
        diagram: what is drawn.
        view: ``"tree"``, or ``"matrix"`` for the alignment of words.
        theme: ``"light"``, ``"dark"``, or ``"auto"`` for the reader's settings.
    """

    diagram: Diagram
    view: View = "tree"
    theme: ThemeName = "auto"

    def __post_init__(self) -> None:
        scope_of(self.theme)  # an error for an unknown one
        if self.view not in VIEWS:
            raise UserError(f"view is {' or '.join(get_args(View))}, not {self.view!r}")

    @cached_property
    def svg(self) -> str:
        """The picture as an SVG document, with its style sheet."""
        hover = hover_rules(self.theme, len(self.diagram.pairs))
        return self.svg_with(style_sheet(self.theme) + hover)

    def svg_with(self, style: str, name: str | None = None, smallest: float | None = None) -> str:
        """Write the picture with a style sheet; ``name`` starts its ids, unique in a page.

        A page may shrink it to ``FITTING`` of its size if it is then seen as a whole. What does not
        fit is scrolled, and has the share ``smallest`` of its size.
        """
        view = VIEWS[self.view](self.diagram)
        title, description = title_of(self.diagram), description_of(self.diagram)
        name = name or f"btg-{zlib.crc32(f'{self.view} {title} {description}'.encode()):08x}"
        frame = element(
            "rect", x=0.5, y=0.5, width=view.width - 1, height=view.height - 1, rx=10, class_="f"
        )
        content = [
            element("title", escaped(title), id=f"{name}-title"),
            element("desc", escaped(description), id=f"{name}-desc"),
            element("style", escaped_style(style)) if style else "",
            frame,
            *view.elements(),
        ]
        return element(
            "svg",
            "\n" + "\n".join(filter(None, content)) + "\n",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {round(view.width)} {round(view.height)}",
            width=round(view.width),
            height=round(view.height),
            style=_least_width(view.width, smallest) if smallest else None,
            role="img",
            aria_labelledby=f"{name}-title {name}-desc",
            class_=scope_of(self.theme),
        )

    @cached_property
    def html(self) -> str:
        """A page of its own with both views and a table of phrases; it loads nothing."""
        from btg_seq2seq.drawing.page import page

        return page([self])

    def png(self, scale: float = 2.0) -> bytes:
        """Return the picture as PNG, ``scale`` pixels per point; the theme auto is light there."""
        from btg_seq2seq.drawing.png import rasterised

        theme: ThemeName = "light" if self.theme == "auto" else self.theme
        still = Drawing(self.diagram, self.view, theme).svg_with(style_sheet(theme))
        return rasterised(still, scale)

    def save(self, path: str | Path, scale: float = 2.0) -> None:
        """Write a file; its name ends in ``.svg``, ``.html`` or ``.png``."""
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            raise UserError(f"{path}: the name of a picture ends in {', '.join(SUFFIXES)}")
        if suffix == ".png":
            content = self.png(scale)
        else:
            content = (self.svg if suffix == ".svg" else self.html).encode()
        write_file(path, content)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg}</div>'


def draw(translation: Translation, view: View = "tree", theme: ThemeName = "auto") -> Drawing:
    """Draw the derivation of a translation; ``UserError`` if there is none, or it is too large."""
    return Drawing(Diagram.of(translation), view, theme)


def write_file(path: str | Path, content: bytes) -> None:
    """Write a file that appears complete or not at all."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, place)
    finally:
        temporary.unlink(missing_ok=True)


def _least_width(width: float, smallest: float) -> str:
    """Return a style: as wide as its place, unless that is less than ``FITTING``."""
    missing = f"({round(FITTING * width)}px - 100%) * 1000"
    return f"min-width:clamp(0px,{missing},{round(width * smallest)}px)"


def escaped_style(style: str) -> str:
    """Return a style sheet for the content of an element; it has no markup."""
    return style.replace("&", "&amp;").replace("<", "&lt;")
