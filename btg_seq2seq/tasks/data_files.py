"""Files of a task in a directory that the user names: present, complete and the right version."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from btg_seq2seq.errors import UserError
from btg_seq2seq.text import Bitext, read_lines

SHOWN = 12  # digits of a checksum in messages
UNCHECKED = "--unchecked uses other versions of files, and marks the results"


@dataclass(frozen=True)
class DataFile:
    """A file of a task; what is ``None`` is not fixed."""

    name: str
    lines: int | None = None
    sha256: str | None = None


def check_files(
    task: str,
    directory: Path,
    files: Sequence[DataFile | str],
    origin: str = "",
    unchecked: bool = False,
) -> None:
    """Refuse a directory, with everything that is missing or differs in one message."""
    if not files:
        return
    if not directory.is_dir():
        raise UserError(f"{task}: there is no directory {directory}; {_advice(files, origin)}")
    described = [DataFile(file) if isinstance(file, str) else file for file in files]
    missing = [file.name for file in described if not (directory / file.name).is_file()]
    problems = [f"{', '.join(missing)} missing"] if missing else []
    others: list[str] = []
    if not unchecked:
        present = [file for file in described if file.name not in missing]
        others = [problem for file in present for problem in _differences(directory, file)]
    if problems or others:
        advice = "; ".join(filter(None, [_advice(files, origin), UNCHECKED if others else ""]))
        raise UserError(
            f"{directory} does not have the files of {task}: {'; '.join(problems + others)}"
            f"{f'. {advice}' if advice else ''}"
        )


def _differences(directory: Path, file: DataFile) -> Iterator[str]:
    """Describe how a file differs from what it should be."""
    path = directory / file.name
    if file.lines is not None and (found := len(read_lines(path))) != file.lines:
        yield f"{file.name} has {found} lines, not {file.lines}"
    elif file.sha256 is not None and (found_sum := _sha256(path)) != file.sha256:
        yield (
            f"{file.name} has the SHA-256 checksum {found_sum[:SHOWN]}..., not "
            f"{file.sha256[:SHOWN]}..."
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _advice(files: Sequence[DataFile | str], origin: str) -> str:
    return f"To get them: {origin}" if origin else ""


def read_pairs(directory: Path, sets: dict[str, tuple[str, str]]) -> dict[str, Bitext]:
    """Read the bitexts of a task; ``sets`` has the source and target file of each."""
    return {
        name: Bitext.from_files(directory / source, directory / target)
        for name, (source, target) in sets.items()
    }


def pair_files(
    source: str, target: str, lines: dict[str, int], checksums: dict[str, str] | None = None
) -> tuple[DataFile, ...]:
    """Files ``SET.SOURCE`` and ``SET.TARGET`` of sets with these numbers of lines."""
    sums = checksums or {}
    return tuple(
        DataFile(f"{name}.{side}", count, sums.get(f"{name}.{side}"))
        for name, count in lines.items()
        for side in (source, target)
    )
