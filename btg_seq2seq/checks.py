"""Checks of settings; errors name the setting."""

from __future__ import annotations

import math
from collections.abc import Collection

from btg_seq2seq.errors import UserError


def whole(name: str, value: object, least: int = 0) -> None:
    """Refuse a value that is not a whole number, or is too small."""
    if type(value) is not int:
        raise UserError(f"{name} must be a whole number, {least} or more, not {value!r}")
    at_least(least, name, value)


def true_or_false(name: str, value: object) -> None:
    """Refuse a value that is not a boolean."""
    if type(value) is not bool:
        raise UserError(f"{name} must be true or false, not {value!r}")


def one_of(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise UserError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def at_least(least: int, name: str, value: float | None) -> None:
    """Refuse a value that is too small; ``None`` is accepted."""
    if value is not None and value < least:
        raise UserError(f"{name} must be {least} or more, not {value}")


def from_0_to_1(name: str, value: float | None, ends: bool = True) -> None:
    """Refuse a value that is not a share or a probability; ``None`` is accepted.

    Without ``ends``, 0 and 1 are refused too.
    """
    if value is None:
        return
    if not _is_number(value) or not (0 <= value <= 1 if ends else 0 < value < 1):
        raise UserError(f"{name} must lie between 0 and 1, not {value}")


def finite(name: str, value: object, least: float = 0) -> None:
    """Refuse a value that is not a finite number, or is too small."""
    if not (isinstance(value, int | float) and _is_number(value) and least <= value < math.inf):
        more = "" if least == -math.inf else f", {least} or more"
        raise UserError(f"{name} must be a number{more}, not {value}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
