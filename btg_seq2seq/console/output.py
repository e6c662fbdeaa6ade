"""Results of a command: on the standard output, or in a file that appears once it is complete."""

from __future__ import annotations

import gzip
import io
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from btg_seq2seq.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress

READ = ("*.json", "*.safetensors", "*.model", "*.spm", "*.txt")  # files of a model


class Output:
    """The destination of a command's results.

    A file is written beside its final place and moved there when the command has succeeded; after
    an error or an interruption nothing is left of it, and an older file of that name stays.

    Args:
        path: the file, gzipped if its name ends in ``.gz``; the standard output without.
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = None if path in (None, "-") else Path(str(path)).resolve()
        self._stream: IO[str] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Output:
        if self.path is not None:
            self._stream = self._stack.enter_context(_complete_or_absent(self.path))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def write(self, lines: Iterable[str]) -> None:
        """Write lines at once, as UTF-8; ends of lines within one become spaces."""
        lines = (line.replace("\r", " ").replace("\n", " ") + "\n" for line in lines)
        self.write_text("".join(lines))

    def write_text(self, text: str) -> None:
        """Write a text as it is, as UTF-8."""
        if self._stream is not None:
            self._stream.write(text)
            return
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # whatever the terminal's encoding
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:  # nobody reads on, as in `btg translate ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(128 + signal.SIGPIPE)

    def progress(self, quiet: bool) -> Progress:
        """A count of sentences on stderr, if that is a terminal on which nothing else appears."""
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = SpinnerColumn(), MofNCompleteColumn(), "sentences", TimeElapsedColumn()
        is_covered = self.path is None and sys.stdout.isatty()
        hidden = quiet or not console.is_terminal or is_covered
        return Progress(*columns, console=console, transient=True, disable=hidden)


@contextmanager
def _complete_or_absent(path: Path) -> Iterator[IO[str]]:
    """A file to write; under its own name only when it is complete."""
    if path.exists() and not path.is_file():  # a pipe, or /dev/null
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with ExitStack() as stack:
            raw: Any = stack.enter_context(temporary.open("xb"))
            if path.suffix == ".gz":  # without time and name: the same text gives the same bytes
                raw = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
            yield stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8", newline="\n"))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Iterable[str | None], model: str | None = None
) -> None:
    """Refuse to write over what is read, or to write two outputs, by option, into one file."""
    read = {Path(path).resolve() for path in inputs if path is not None and path != "-"}
    if model is not None:
        read |= {path.resolve() for pattern in READ for path in Path(model).glob(pattern)}
    written: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        place = Path(path).resolve()
        if place.is_dir():
            raise UserError(f"{option}: {path} is a directory; give the name of a file")
        if place in read:
            raise UserError(f"{path} is read: choose another file for {option}")
        if place in written and (place.is_file() or not place.exists()):
            raise UserError(f"{written[place]} and {option} are both {path}: they need two files")
        written[place] = option


def check_directory(option: str, path: str) -> None:
    """Refuse a file where a command wants to write a directory."""
    for place in (Path(path), *Path(path).parents):
        if place.exists() and not place.is_dir():
            raise UserError(f"{option} {path}: {place} is a file; give the name of a directory")
