"""Sentences that stream through a command: in chunks, in order, a line out for each line in."""

from __future__ import annotations

import gzip
import json
import math
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from btg_seq2seq.errors import UserError
from btg_seq2seq.text.bitext import BYTE_ORDER_MARK

Item = TypeVar("Item")

MOST_NESTED = 500  # levels of JSON: more could be read, but not be written again
LONGEST_LINE = 1 << 25  # bytes that are held in memory
BLOCK = 1 << 20  # most bytes to read from the standard input at once


@dataclass(frozen=True)
class Line:
    """A sentence, where it stands, and in JSON what else there was beside it."""

    number: int
    text: str
    fields: dict[str, Any] = field(default_factory=dict)


def read_texts(path: str, *, are_json: bool = False, hint: str = "") -> Iterator[Line | None]:
    """Sentences of a file, or of the standard input where the path is ``-``, as they arrive.

    Plain lines, or JSON objects with the field ``source``; nothing in between where the next line
    of the standard input is still to come. What is wrong with a line is an error that names it,
    and comes when that line does; ``hint`` is the end of the error for a line that is not JSON.
    """
    name, number = name_of(path), 0
    with _open(path) as stream:
        try:
            for content in _arriving(stream) if path == "-" else _lines_of(stream):
                if content is None:
                    yield None
                    continue
                number += 1
                if len(content) > LONGEST_LINE:
                    raise UserError(
                        f"{name}: line {number} has more than {LONGEST_LINE} bytes; split it into "
                        "sentences, one per line"
                    )
                text = _decode(content, name, number)
                yield _parse(number, text, name, hint) if are_json else Line(number, text)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{name}: line {number + 1} cannot be read: {error}") from error


def read_whole(path: str) -> str:
    """Return a file, or the standard input, as one text with its line ends."""
    name = name_of(path)
    try:
        with _open(path) as stream:
            content = stream.read(LONGEST_LINE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{name} cannot be read: {error}") from error
    if len(content) > LONGEST_LINE:
        raise UserError(f"{name} has more than {LONGEST_LINE} bytes; split it into documents")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{name}: line {line} is not UTF-8 (byte 0x{content[error.start]:02x}: "
            f"{error.reason}); convert it, for example with iconv"
        ) from error


def check_readable(*paths: str | None) -> None:
    """An error for a file that is not there, before any work is done."""
    for path in paths:
        if path is not None and path != "-" and not Path(path).exists():
            raise UserError(f"{path}: there is no such file")


def name_of(path: str) -> str:
    """The name of an input in messages."""
    return "standard input" if path == "-" else path


def _arriving(stream: BinaryIO) -> Iterator[bytes | None]:
    """Lines, and nothing where it would take waiting to read on: somebody may wait for us."""
    source: Any = stream  # ``read1`` takes what there is, and waits only if there is nothing
    begun: list[bytes] = []  # parts of a line without its end
    while block := source.read1(BLOCK):
        rest, *others = block.split(b"\n")
        begun.append(rest)
        for rest in others:
            yield b"".join(begun) + b"\n"
            begun = [rest]
        if sum(map(len, begun)) > LONGEST_LINE:
            yield b"".join(begun)  # which is refused
        yield None
    if rest := b"".join(begun):
        yield rest


def _lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Lines of a file; of one that is too long, so much that it is refused."""
    while line := stream.readline(LONGEST_LINE + 1):
        yield line


def _decode(content: bytes, name: str, number: int) -> str:
    try:
        text = content.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: line {number} is not UTF-8 (byte 0x{content[error.start]:02x}: "
            f"{error.reason}); convert it, for example with iconv"
        ) from error
    return text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text


def _parse(number: int, text: str, name: str, hint: str) -> Line:
    if not text.strip():
        return Line(number, "")
    try:
        fields = json.loads(text, parse_constant=_number, parse_float=_number)
    except ValueError as error:
        raise UserError(f"{name}: line {number} is not JSON: {error}{hint}") from error
    except RecursionError as error:
        raise UserError(f"{name}: line {number}: its JSON is nested too deeply") from error
    if text.count("[") + text.count("{") > MOST_NESTED and _depth(fields) > MOST_NESTED:
        raise UserError(f"{name}: line {number}: its JSON is nested too deeply")
    source = fields.get("source") if isinstance(fields, dict) else None
    if not isinstance(source, str):
        raise UserError(f"{name}: line {number} is not an object with a text as 'source'")
    if not source.isprintable() and not is_utf8(source):
        raise UserError(f"{name}: line {number} has half a character in 'source'")
    return Line(number, source, fields)


def _depth(value: Any) -> int:
    """The nesting depth of a JSON value."""
    depth, level = 0, [value]
    while level:
        nested = [one for one in level if isinstance(one, dict | list)]
        level = [
            inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)
        ]
        depth += 1
    return depth


def _number(text: str) -> float:
    """A number as JSON has it: it could not be written again, if it were infinite or none."""
    number = float(text)
    if not math.isfinite(number):
        raise UserError(f"{text} is no number in JSON, or too large; write null")
    return number


@contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        stream: Any = gzip.open(path) if path.endswith(".gz") else open(path, "rb")  # noqa: SIM115
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such file") from error
    with stream:
        yield stream


def refuse_clash(line: Line, written: Collection[str], name: str) -> None:
    """An error where a line of JSON has fields that the output would overwrite."""
    clash = [repr(field) for field in line.fields if field in written]
    if clash:
        raise UserError(
            f"{name}: line {line.number} has {', '.join(clash)}, which the output would overwrite; "
            "rename or remove it"
        )


def in_chunks(items: Iterable[Item | None], size: int) -> Iterator[list[Item]]:
    """Lists of ``size`` items, or of fewer where ``None`` says that the next is still to come.

    Before an error, those that came before it.
    """
    if size < 1:
        raise UserError(f"--chunk must be 1 or more, not {size}")
    chunk: list[Item] = []
    try:
        for item in items:
            if item is not None:
                chunk.append(item)
            if len(chunk) == size or (item is None and chunk):
                yield chunk
                chunk = []
    except ValueError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def is_utf8(text: str) -> bool:
    """Tell whether a text can be encoded: lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
