"""Refuse settings that make no sense, by name."""

from __future__ import annotations

from btg_seq2seq.errors import UserError


def at_least(least: int, name: str, value: float | None) -> None:
    """Refuse a value that is too small; nothing is allowed."""
    if value is not None and value < least:
        raise UserError(f"{name} must be {least} or more, not {value}")


def from_0_to_1(name: str, value: float | None, ends: bool = True) -> None:
    """Refuse what is not a share or a probability; or, without ``ends``, one that is certain.

    Nothing is allowed.
    """
    if value is not None and not (0 <= value <= 1 if ends else 0 < value < 1):
        raise UserError(f"{name} must lie between 0 and 1, not {value}")
