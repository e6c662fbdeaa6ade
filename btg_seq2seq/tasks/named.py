"""Collections of things that users name: tasks and systems."""

from __future__ import annotations

from typing import Protocol, TypeVar

from btg_seq2seq.errors import UserError
from btg_seq2seq.options.wording import did_you_mean


class HasName(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str:
        """Name on the command line."""


T = TypeVar("T", bound=HasName)


class Named(dict[str, T]):
    """Things by their names; ``kind`` says in errors what they are."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def register(self, item: T) -> None:
        """Add an item; it is an error if another one has its name."""
        if self.setdefault(item.name, item) is not item:
            raise UserError(f"there is another {self.kind} of the name {item.name!r}")

    def find(self, name: str) -> T:
        """Return the item of a name; it is an error if there is none."""
        if name not in self:
            hint = did_you_mean(name, self)
            raise UserError(
                f"there is no {self.kind} {name!r}{hint}; the {self.kind}s are {', '.join(self)}"
            )
        return self[name]
