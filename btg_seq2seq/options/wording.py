"""Words for messages: the name that was probably meant, and what a type accepts."""

from __future__ import annotations

import re
import types
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin

LONGEST = 60  # characters of a value that a message repeats
SCHEDULE = "{0: 1.0, 500: 0.5}"
NO_SPACE = re.compile(r"[{,]\s*\d+:[^\s,}]")  # in a schedule
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
DEEP = "brackets are nested too deeply"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``"; did you mean steps?"``, or nothing where no name is similar.

    Of a name with dots, the last part may be all that was written. Dashes and underscores, capital
    and small letters are alike.
    """
    names = {_plain(name): name for name in known}
    found = _similar(_plain(word), names)
    return f"; did you mean {' or '.join(names[name] for name in found)}?" if found else ""


def _similar(word: str, names: Collection[str]) -> list[str]:
    by_end: dict[str, list[str]] = {}
    for name in names:
        by_end.setdefault(_last(name), []).append(name)
    if word not in names and _last(word) in by_end:  # the section is another one, or left out
        return by_end[_last(word)]
    starts = [name for name in names if len(word) > 2 and name.startswith(word)]
    if len(starts) == 1:
        return starts
    if close := get_close_matches(word, names, 1, 0.75) or starts[:2]:
        return close
    if close := get_close_matches(_last(word), by_end, 1, 0.75):
        return by_end[close[0]]
    return get_close_matches(word, names, 1)


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").strip("-")


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def refused(name: str, value: Any, typehint: Any) -> str:
    """The message for a value that is not what its type asks for."""
    text = shown(value)
    choices = choices_of(typehint)
    if choices:
        return f"{name}: {text} is not one of {', '.join(choices)}" + did_you_mean(
            str(value), choices
        )
    kinds = _kinds(typehint)
    if _takes(kinds, dict) and NO_SPACE.search(str(value)):
        return f"{name}: {text} needs a space after each colon, as in {SCHEDULE}"
    message = f"{name}: {text} is not {' or '.join(map(accepted, kinds)) or 'accepted'}"
    if kinds == [str]:
        message += "; put it in quotes"
    return message


def choices_of(typehint: Any) -> list[str]:
    """The values that a ``Literal`` accepts, except ``None``; empty for any other type."""
    kinds = _kinds(typehint)
    if not kinds or not all(get_origin(kind) is Literal for kind in kinds):
        return []
    return [str(choice) for kind in kinds for choice in get_args(kind)]


def accepted(kind: Any) -> str:
    """A description of the values that a type accepts."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is dict:
        return f"a schedule such as {SCHEDULE}"
    if origin is tuple:
        return f"a list of {len(inner)} values in brackets"
    if origin is list:
        return "a list, such as [one, two]"
    return WORDS.get(kind, getattr(kind, "__name__", str(kind)))


def _kinds(typehint: Any) -> list[Any]:
    """The types that a value may have, without that of nothing."""
    is_union = get_origin(typehint) in (Union, types.UnionType)
    kinds = get_args(typehint) if is_union else (typehint,)
    return [kind for kind in kinds if kind not in (None, type(None))]


def _takes(kinds: Sequence[Any], origin: type) -> bool:
    return any(get_origin(kind) is origin for kind in kinds)


def shown(value: Any) -> str:
    """A value as a message repeats it: in quotes if it is text, and not all of it if it is long."""
    text = {None: "null", True: "true", False: "false"}.get(value) if _is_plain(value) else None
    if text is None:
        text = repr(value if len(str(value)) <= LONGEST else f"{str(value)[:LONGEST]}...")
    return text


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool)
