"""A self-contained HTML page of drawings: pictures, sentences as text, and a table of phrases.

It loads nothing, runs no script, and says so to the browser. Wide pictures scroll inside the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from btg_seq2seq.drawing.colours import DARK, LIGHT, Theme, ThemeName, hover_rules, style_sheet
from btg_seq2seq.drawing.description import log_prob_text, title_of
from btg_seq2seq.drawing.diagram import Diagram, Pair
from btg_seq2seq.drawing.plain_text import shortened
from btg_seq2seq.drawing.svg import escaped
from btg_seq2seq.errors import UserError

if TYPE_CHECKING:
    from btg_seq2seq.drawing.drawing import Drawing

MOST_DRAWINGS = 1000
LONGEST_TEXT = 2000  # characters of a phrase in the table
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
SUMMARIES = {"tree": "Tree", "matrix": "Word alignment"}

LAYOUT = """
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:76rem;line-height:1.5;
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif}
h1{font-size:1.3rem;margin:0 0 1.5rem}
section{margin:0 0 3rem}
h2{font-size:1rem;font-weight:600;margin:0 0 .25rem}
p{margin:.15rem 0;overflow-wrap:anywhere}
.score{font-size:.85rem}
.picture{overflow-x:auto;margin:.9rem 0}
.picture svg{display:block;margin:0 auto;max-width:100%;height:auto}
details{margin:.5rem 0}
summary{cursor:pointer;padding:.35rem 0}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:start;vertical-align:top;padding:.35rem .7rem .35rem 0;border-bottom:1px solid;
overflow-wrap:anywhere;min-width:6rem}
"""


def page_head(title: str, theme: ThemeName, style: str) -> str:
    """Write the head of a page that loads nothing and runs no script."""
    scheme = "light dark" if theme == "auto" else theme
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="{scheme}">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n"
    )


def page(drawings: Sequence[Drawing], title: str | None = None) -> str:
    """Write a page of drawings, all in the theme of the first one."""
    if not drawings:
        raise UserError("there is nothing to draw")
    if len(drawings) > MOST_DRAWINGS:
        raise UserError(
            f"{len(drawings)} pictures are too many for a page, which has no more than "
            f"{MOST_DRAWINGS}; write one file for each, as in pictures/{{}}.svg"
        )
    theme = drawings[0].theme
    hover = hover_rules(theme, max(len(drawing.diagram.pairs) for drawing in drawings))
    named = title or (title_of(drawings[0].diagram) if len(drawings) == 1 else "Derivations")
    heading = f"<h1>{escaped(named)}</h1>\n" if title or len(drawings) > 1 else ""
    sections = [
        _section(replace(drawing, theme=theme), number, numbered=len(drawings) > 1)
        for number, drawing in enumerate(drawings, 1)
    ]
    style = f"{LAYOUT}{_page_colours(theme)}\n{style_sheet(theme)}{hover}"
    return (
        f"{page_head(named, theme, style)}"
        f"<body>\n<main>\n{heading}{''.join(sections)}</main>\n</body>\n</html>\n"
    )


def _section(drawing: Drawing, number: int, *, numbered: bool) -> str:
    diagram = drawing.diagram
    other = replace(drawing, view="matrix" if drawing.view == "tree" else "tree")
    return (
        f'<section aria-label="Derivation {number}">\n'
        + (f"<h2>{number}</h2>\n" if numbered else "")
        + f'<p dir="auto">{escaped(diagram.source)}</p>\n'
        + f'<p dir="auto"><strong>{escaped(diagram.target)}</strong></p>\n'
        + f'<p class="score">log-probability {escaped(log_prob_text(diagram.log_prob))}</p>\n'
        + _picture(drawing, number)
        + _other_view(other, number)
        + _table(diagram)
        + "</section>\n"
    )


def _picture(drawing: Drawing, number: int) -> str:
    # It shrinks to seven tenths of its size on small screens, then scrolls.
    svg = drawing.svg_with("", f"picture-{number}-{drawing.view}", smallest=0.7)
    label = f"{SUMMARIES[drawing.view]} of derivation {number}"
    return f'<div class="picture" tabindex="0" role="group" aria-label="{label}">{svg}</div>\n'


def _other_view(drawing: Drawing, number: int) -> str:
    try:
        picture = _picture(drawing, number)
    except UserError:  # too many words for a matrix
        return ""
    return f"<details><summary>{SUMMARIES[drawing.view]}</summary>\n{picture}</details>\n"


def _table(diagram: Diagram) -> str:
    rows = "".join(map(_row, diagram.pairs))
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Source", "Translation", "Origin"))
    return (
        "<details><summary>Phrases</summary>\n"
        f'<div class="table"><table><thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>'
        "</div></details>\n"
    )


def _row(pair: Pair) -> str:
    texts = [escaped(shortened(text, LONGEST_TEXT)) for text in (pair.source, pair.target)]
    origin = pair.mark or f"log-probability {log_prob_text(pair.log_prob)}"
    cells = "".join(f'<td dir="auto">{text}</td>' for text in texts)
    return f"<tr>{cells}<td>{escaped(origin)}</td></tr>\n"


def _page_colours(theme: str) -> str:
    def colours(chosen: Theme) -> str:
        return (
            f"body{{background:{chosen.background};color:{chosen.ink}}}"
            f".score,summary{{color:{chosen.note}}}th,td{{border-color:{chosen.frame}}}"
        )

    if theme == "dark":
        return colours(DARK)
    dark = f"@media (prefers-color-scheme:dark){{{colours(DARK)}}}" if theme == "auto" else ""
    return colours(LIGHT) + dark
