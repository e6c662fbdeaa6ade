"""Checksums of the files of a model or checkpoint, so that damage is found before it matters.

The manifest is written last: without it, or with other files than it names, a directory is not
what was written. It guards against accidents; somebody who can write the files can write it too.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from btg_seq2seq import __version__
from btg_seq2seq.errors import UserError
from btg_seq2seq.opening import read_json

MANIFEST_FILE = "manifest.json"
# Each side of a model writes its own; a tokenizer may be saved by anybody, at any time.
LEXICAL_FILE = "lexical.safetensors"  # word-translation tables
TUNED_FILE = "tuned.json"
MODEL_FILES = (
    *("config.json", "decoding.json", "generation_config.json", LEXICAL_FILE, TUNED_FILE),
    *("model*.safetensors", "model*.index.json"),
)


def write_manifest(directory: Path, patterns: Iterable[str] = ("*",)) -> None:
    """Write the checksums of the files in a directory, of all or of those that match."""
    paths = {path for pattern in patterns for path in directory.glob(pattern) if _counts(path)}
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": _checksum(path)}
        for path in sorted(paths)
    }
    content = {"written_by": f"btg-seq2seq {__version__}", "files": files}
    (directory / MANIFEST_FILE).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def replace_files(directory: Path, write: Callable[[Path], None]) -> None:
    """Replace files that ``write`` puts into a directory, and their checksums, without risk.

    At every moment the directory can be opened: with the old files, without those that are being
    replaced, or with the new ones. The checksums of all other files stay as they are.
    """
    manifest = directory / MANIFEST_FILE
    with tempfile.TemporaryDirectory(dir=directory, prefix=".new-") as place:
        write(Path(place))
        names = sorted(path.name for path in Path(place).iterdir())
        write_manifest(Path(place))
        new = read_json(Path(place) / MANIFEST_FILE)["files"]
        if manifest.exists():
            content = read_json(manifest)
            others = {name: entry for name, entry in content["files"].items() if name not in names}
            _swap_text(manifest, json.dumps({**content, "files": others}, indent=2) + "\n")
        for name in names:
            os.replace(Path(place) / name, directory / name)
        if manifest.exists():
            files = dict(sorted({**others, **new}.items()))
            _swap_text(manifest, json.dumps({**content, "files": files}, indent=2) + "\n")


def _swap_text(path: Path, text: str) -> None:
    """Replace a file at once."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def verify_files(directory: Path, *, exact: bool = False) -> None:
    """Compare the files of a directory with its manifest; name the first that differs.

    ``exact``: there may be no other files either.
    """
    files = _listed(directory / MANIFEST_FILE)
    for name, (size, checksum) in files.items():
        path = directory / name
        if not path.is_file():
            raise UserError(f"{path} is missing: the directory is incomplete")
        found = path.stat().st_size
        if found != size:
            raise UserError(f"{path} is damaged: it has {found} bytes and was written with {size}")
        if _checksum(path) != checksum:
            raise UserError(f"{path} is damaged: it is not the file that was written")
    if exact:
        strangers = {path.name for path in directory.iterdir() if _counts(path)} - {*files}
        if strangers:
            raise UserError(f"{directory / min(strangers)} does not belong there: remove it")


def _listed(path: Path) -> dict[str, tuple[int, str]]:
    """Size and checksum of each file that a manifest lists."""
    files = read_json(path).get("files")
    listed: dict[str, tuple[int, str]] = {}
    for name, entry in files.items() if isinstance(files, dict) else ():
        match entry:
            case {"bytes": int(size), "sha256": str(checksum)} if Path(name).name == name:
                listed[name] = size, checksum
            case _:
                raise UserError(f"{path} is damaged: {name!r} has no size and checksum")
    if not listed:
        raise UserError(f"{path} is damaged: it lists no files")
    return listed


def _counts(path: Path) -> bool:
    return path.is_file() and path.name != MANIFEST_FILE and not path.name.startswith(".")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
