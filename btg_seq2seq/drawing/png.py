"""SVG to PNG, with the fonts of this machine.

resvg shapes text and finds a font for every script. Renderers on top of cairo alone, such as
cairosvg, draw Arabic letters unjoined and empty boxes for scripts that the first font lacks.
"""

from __future__ import annotations

import re

from btg_seq2seq.errors import UserError

INSTALL = "PNG needs the package resvg-py: pip install resvg-py, or write .svg or .html instead"
MOST_PIXELS = 60_000_000
# The renderer loses text after emoji that are joined; their parts are drawn side by side instead.
JOINED_EMOJI = re.compile("\ufe0f|\u200d(?=[\u2600-\u27bf\U0001f000-\U0001fbff])")
SIZE = re.compile(r'viewBox="0 0 ([0-9]+) ([0-9]+)"')


def rasterised(svg: str, scale: float = 2.0) -> bytes:
    """Render a picture; ``scale`` is the number of pixels per point."""
    if not 0 < scale <= 10:
        raise UserError(f"scale must be above 0 and at most 10, not {scale}")
    try:
        import resvg_py
    except ImportError as error:
        raise UserError(INSTALL) from error
    found = SIZE.search(svg)
    width, height = map(int, found.groups()) if found else (0, 0)
    if width * height * scale**2 > MOST_PIXELS:
        raise UserError(
            f"the picture would have {round(width * scale)} x {round(height * scale)} pixels; "
            "choose a smaller scale, or write .svg or .html"
        )
    drawn = resvg_py.svg_to_bytes(svg_string=JOINED_EMOJI.sub("", svg), zoom=_zoom(scale))
    return bytes(drawn)


def _zoom(scale: float) -> int | float:
    return int(scale) if scale == int(scale) else scale
