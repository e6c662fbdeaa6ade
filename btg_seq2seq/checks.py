"""Checks of settings: errors name the setting."""

from __future__ import annotations

from collections.abc import Collection

from btg_seq2seq.errors import UserError


def whole(name: str, value: object, least: int = 0) -> None:
    """Refuse what is not a whole number, or too small."""
    if type(value) is not int or value < least:
        raise UserError(f"{name} must be a whole number, {least} or more, not {value!r}")


def true_or_false(name: str, value: object) -> None:
    """Refuse what is neither."""
    if type(value) is not bool:
        raise UserError(f"{name} must be true or false, not {value!r}")


def one_of(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse what is not among the choices."""
    if value not in choices:
        raise UserError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def at_least(least: int, name: str, value: float | None) -> None:
    """Refuse a value that is too small; ``None`` is allowed."""
    if value is not None and value < least:
        raise UserError(f"{name} must be {least} or more, not {value}")


def from_0_to_1(name: str, value: float | None, ends: bool = True) -> None:
    """Refuse what is not a share or a probability; or, without ``ends``, one that is certain.

    ``None`` is allowed.
    """
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (0 <= value <= 1 if ends else 0 < value < 1):
        raise UserError(f"{name} must lie between 0 and 1, not {value}")
