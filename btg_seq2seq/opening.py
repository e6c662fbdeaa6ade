"""The one door to model directories and hub names; nothing that lies behind it is ever executed.

A directory somebody hands us is hostile until checked: it may name code to run, files elsewhere on
the disk, or kernels to fetch. Such a directory is refused before Hugging Face reads it. What is
left may still be broken in any way, so every failure becomes a ``UserError`` that names the place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from btg_seq2seq.errors import UserError

RUNS_CODE = {"auto_map", "custom_pipelines"}  # settings that name Python code
ATTENTIONS = {None, "eager", "sdpa"}  # any other may be fetched from the hub, and run
ATTENTION_FIELDS = {"attn_implementation", "_attn_implementation", "experts_implementation"}
# Old tokenizers carry the path that they were made at, and nobody opens it.
NEVER_OPENED = {"special_tokens_map_file"}
LARGEST_NUMBER = 2**24  # in a configuration: more tokens or wider states than any model has
MOST_LAYERS = 1024
LAYERS = {"num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers"}
# Their content is the tokenizer's business, and may be large.
VOCABULARIES = {"tokenizer.json", "vocab.json", "added_tokens.json"}


def open_pretrained(loader: Any, source: str | PathLike[str], what: str, **options: Any) -> Any:
    """Call ``loader.from_pretrained`` on a directory or hub name; ``what`` is for messages."""
    name = fspath(source)
    if Path(name).is_dir():
        check_directory(Path(name))
    elif not isinstance(source, str):  # a path is no name on the hub
        raise UserError(f"cannot load {what} from {name!r}: there is no such directory")
    try:
        return loader.from_pretrained(name, trust_remote_code=False, **options)
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
    except Exception as error:  # the libraries below raise whatever a broken file leads to
        missing = "" if Path(name).is_dir() else "there is no such directory, and on the hub: "
        reason = f"{missing}{summary(error)}"
        raise UserError(f"cannot load {what} from {name!r}: {reason}") from error


def summary(error: BaseException) -> str:
    """The message of a library's exception, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    return text if isinstance(error, OSError | UserError) else f"{type(error).__name__}: {text}"


def read_json(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds; ``UserError`` for whatever else it is."""
    if not path.is_file():
        reason = "it is not a file" if path.exists() else "there is no such file"
        raise UserError(f"{path}: {reason}")
    try:
        content = json.loads(path.read_bytes())
    except RecursionError as error:
        raise UserError(f"{path} is nested too deeply to be read") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {summary(error)}") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} holds a {type(content).__name__}, not an object {{...}}")
    return content


def check_directory(directory: Path) -> None:
    """Refuse a model directory that would run code or leads elsewhere."""
    if (directory / "adapter_config.json").exists():
        raise UserError(
            f"{directory} holds an adapter for another model (adapter_config.json): merge it into "
            "its model and save that"
        )
    for path in sorted(directory.glob("*.json")):
        if path.name not in VOCABULARIES:
            _check_settings(path, read_json(path))


def _check_settings(path: Path, content: dict[str, Any]) -> None:
    for name, value in _settings(content):
        if name in RUNS_CODE and value is not None:
            raise UserError(
                f"{path} asks for code to be run ({name}), and no code of a model directory ever "
                "is: use a model of a supported kind, without code of its own"
            )
        if name in ATTENTION_FIELDS and (not isinstance(value, str | None)):
            raise UserError(f"{path}: {name} is {value!r}, not a name")
        if name in ATTENTION_FIELDS and value not in ATTENTIONS:
            raise UserError(f"{path}: {name} is {value!r}; choose eager or sdpa")
        is_size = path.name == "config.json" and isinstance(value, int)
        if is_size and abs(value) > _largest(name):
            raise UserError(f"{path}: {name} is {value}, more than any model has")
        if _names_file(name) and isinstance(value, str) and not _is_inside(value):
            raise UserError(f"{path} points outside of its directory: {name} is {value!r}")
    weights = content.get("weight_map", {})
    if not isinstance(weights, dict):
        raise UserError(f"{path}: weight_map is not an object {{...}}")
    for name, value in weights.items():
        if not isinstance(value, str) or not _is_inside(value):
            raise UserError(f"{path} points outside of its directory: {name} is in {value!r}")


def _settings(content: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """All fields of an object, nested ones too, each element of a list by the list's name."""
    waiting: list[tuple[str, Any]] = list(content.items())
    while waiting:
        name, value = waiting.pop()
        yield name, value
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(name, element) for element in value]


def _largest(name: str) -> float:
    return MOST_LAYERS if name in LAYERS else LARGEST_NUMBER


def _names_file(name: str) -> bool:
    is_file = name.endswith(("_file", "_files")) or name == "transformers_weights"
    return is_file and name not in NEVER_OPENED


def _is_inside(name: str) -> bool:
    """Tell whether a file name stays in its directory, on any system."""
    paths = PurePosixPath(name), PureWindowsPath(name)
    return not name or all(len(path.parts) == 1 and path.name == name for path in paths)
