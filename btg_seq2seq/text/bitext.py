"""Parallel text in files: one sentence per line, plain or gzipped, UTF-8.

What is wrong with a file is said with the file's name and the line. Tokens are left to others.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Tree

BYTE_ORDER_MARK = "\ufeff"

TooLong = Literal["error", "skip", "keep"]
"""Treatment of pairs with more tokens than allowed."""


def read_lines(path: str | Path) -> list[str]:
    r"""Read the lines of a file, empty ones too, without what ends them.

    Only ``\n`` and ``\r\n`` end a line: other separators of Unicode occur within sentences, and a
    line more on one side would shift the whole bitext.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such file") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: the file cannot be read: {error}") from error
    try:
        text = content.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}: line {line} is not UTF-8 (byte 0x{content[error.start]:02x}: "
            f"{error.reason}); convert the file, for example with iconv"
        ) from error
    lines = text.split("\n")
    if not lines[-1]:  # what follows the last end of line is no line
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write one sentence per line, gzipped where the name ends in ``.gz``.

    The file appears complete or not at all; the same lines give the same bytes.
    """
    path, lines = Path(path), list(lines)
    for number, line in enumerate(lines, 1):
        if "\n" in line:
            raise UserError(f"{path}: line {number} contains an end of line: {line!r}")
    content = "".join(line + "\n" for line in lines).encode("utf-8")
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@dataclass(frozen=True)
class Bitext:
    """Sentences and their translations, and where known the gold derivations that relate them.

    A tree is printed with brackets, as ``str(tree)`` does, a segmentation as the lengths of the
    target phrases, one for each leaf of the tree, ``"2 1 3"``; ``name`` is for messages.
    """

    source: list[str]
    target: list[str]
    trees: list[str] | None = None
    name: str = "bitext"
    segmentations: list[str] | None = None

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise UserError(
                f"{self.name}: {len(self.source)} source sentences, "
                f"but {len(self.target)} target sentences"
            )
        if self.trees is not None and len(self.trees) != len(self.source):
            raise UserError(
                f"{self.name}: {len(self.source)} sentences, but {len(self.trees)} trees"
            )
        if self.segmentations is not None:
            self._check_segmentations(self.segmentations)

    def _check_segmentations(self, segmentations: list[str]) -> None:
        if self.trees is None or len(segmentations) != len(self.source):
            raise UserError(
                f"{self.name}: segmentations need trees, and there must be as many as sentences"
            )
        for number, (tree, lengths) in enumerate(zip(self.trees, segmentations, strict=True), 1):
            words = lengths.split()
            leaves = Tree.parse(tree).segments if tree.strip() else 0
            if not all(word.isdecimal() and int(word) for word in words) or len(words) != leaves:
                raise UserError(
                    f"{self.name}: line {number}: {lengths!r} are not the lengths of {leaves} "
                    "target phrases"
                )

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def from_files(
        cls,
        source: str | Path,
        target: str | Path,
        trees: str | Path | None = None,
        segmentations: str | Path | None = None,
    ) -> Bitext:
        """Read a bitext whose files correspond line by line."""
        source_lines, target_lines = read_lines(source), read_lines(target)
        _check_same_length(source, source_lines, target, target_lines)
        tree_lines = None
        if trees is not None:
            tree_lines = read_lines(trees)
            _check_same_length(source, source_lines, trees, tree_lines)
            _check_trees(trees, tree_lines, source_lines)
        length_lines = None
        if segmentations is not None:
            length_lines = read_lines(segmentations)
            _check_same_length(source, source_lines, segmentations, length_lines)
        name = f"{source} and {target}"
        if segmentations is not None:
            name = f"{source}, {target}, {trees} and {segmentations}"
        return cls(source_lines, target_lines, tree_lines, name, length_lines)


def _check_same_length(
    path: str | Path, lines: list[str], other_path: str | Path, other_lines: list[str]
) -> None:
    if len(lines) != len(other_lines):
        raise UserError(
            f"{path} has {len(lines)} lines, but {other_path} has {len(other_lines)}: "
            "the files must correspond line by line"
        )


def _check_trees(path: str | Path, trees: list[str], source: list[str]) -> None:
    for number, (tree, sentence) in enumerate(zip(trees, source, strict=True), 1):
        if not sentence.strip():  # an empty sentence is never trained on and has no tree
            continue
        try:
            Tree.parse(tree)
        except ValueError as error:
            raise UserError(f"{path}: line {number}: {error}") from error
