"""SVG elements as text, with everything escaped.

``element`` writes one element; numbers are rounded, so that a picture is the same on all machines.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

Value = str | int | float | None


def number(value: float) -> str:
    """Write a number with at most one decimal."""
    rounded = round(value + 0.0, 1)
    return str(int(rounded)) if rounded == int(rounded) else str(rounded)


def escaped(text: str) -> str:
    """Return a text for the content of an element or an attribute in quotes."""
    return html.escape(text, quote=True)


def element(name: str, content: str = "", **attributes: Value) -> str:
    """Write an element; ``content`` is markup already.

    Underscores in names of attributes stand for dashes, one at the end is left out (``class_``),
    and attributes that are ``None`` are left out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def group(parts: Iterable[str], title: str | None = None, **attributes: Value) -> str:
    """Write a group of elements; its title appears on hover."""
    head = "" if title is None else element("title", escaped(title))
    return element("g", head + "".join(parts), **attributes)


def path(*steps: str | float) -> str:
    """Write the data of a path: letters, and numbers between them."""
    data, after_number = "", False
    for step in steps:
        if isinstance(step, str):
            data, after_number = data + step, False
        else:
            data, after_number = data + " " * after_number + number(step), True
    return data


def _value(value: str | int | float | None) -> str:
    return escaped(value) if isinstance(value, str) else number(float(value or 0))
