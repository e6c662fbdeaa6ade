"""Progress of long work on stderr, with the time left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def tracker(quiet: bool) -> Any:
    """Return a function that goes through items with a bar, if stderr is a terminal."""

    def go_through(items: Sequence[Any], description: str) -> Iterator[Any]:
        from rich.console import Console
        from rich.progress import track

        console = Console(stderr=True)
        is_hidden = quiet or not console.is_terminal
        yield from track(items, description, console=console, disable=is_hidden)

    return go_through
