"""A YAML file of settings in sections; what is wrong with it is said with its line.

Stricter than YAML: a key that is unknown or stands there twice is an error. Types are left to the
parser that the values go to.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from btg_seq2seq.errors import UsageError
from btg_seq2seq.options.wording import DEEP, NO_SPACE, SCHEDULE, did_you_mean, shown

DEPTH = 4  # a section, a field, and a list of lists in it: deeper than that nothing is meant
NUMBER = r"[-+]?(?:\d[\d_]*\.[\d_]*(?:[eE][-+]?\d+)?|\d[\d_]*[eE][-+]?\d+|\.[\d_]+(?:[eE][-+]?\d+)?"
NUMBER += r"|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"


class Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML 1.2 where it matters: ``1e-4`` is a number, and ``0:30`` and dates are not."""


Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag.rpartition(":")[2] not in ("timestamp", "float", "int")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for kind, pattern in (("float", NUMBER), ("int", r"[-+]?\d[\d_]*")):
    Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{kind}", re.compile(f"^(?:{pattern})$"), list("-+.0123456789")
    )


def load_value(text: str) -> Any:
    """A value of a command line, written as in a file."""
    return yaml.load(text, Loader)


@dataclass
class YamlFile:
    """Settings that a file holds: ``{"model": {"layers": 3}}``, and the line of each.

    Args:
        path: the file.
        known: all fields, ``"model.layers"``; any other is an error.
        replaced: fields of earlier versions, and what replaces them.
    """

    path: str | Path
    known: Collection[str]
    replaced: Mapping[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(init=False, default_factory=dict)
    lines: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.sections = {name.partition(".")[0] for name in self.known if "." in name}
        text = self._text()
        try:
            loader = Loader(text)
            root = loader.get_single_node()
            if root is None:
                return
            if not isinstance(root, yaml.MappingNode):
                raise self.error(None, "holds no settings: a line has a key and a value, 'seed: 1'")
            self._read(loader, root, "")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = None if mark is None else mark.line + 1
            reason = error.problem or error.context
            raise self.error(line, f"the YAML cannot be read: {reason}") from error
        except yaml.YAMLError as error:
            raise self.error(None, f"the YAML cannot be read: {error}") from error
        except RecursionError as error:
            raise self.error(None, f"the YAML cannot be read: {DEEP}") from error

    def place(self, key: str) -> str:
        """The place of a field: ``"config.yaml: line 3"``."""
        return f"{self.path}: line {self.lines[key]}" if key in self.lines else str(self.path)

    def error(self, line: int | None, message: str) -> UsageError:
        """An error that names the file and the line."""
        place = str(self.path) if line is None else f"{self.path}: line {line}"
        return UsageError(f"{place}: {' '.join(message.split())}")

    def _text(self) -> str:
        try:
            return Path(self.path).read_bytes().decode("utf-8")
        except FileNotFoundError as error:
            raise self.error(None, "there is no such file") from error
        except OSError as error:
            raise self.error(None, f"the file cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise self.error(line, "this is not UTF-8") from error

    def _read(self, loader: Any, node: Any, section: str) -> None:
        """Read the fields of the file, or of a section."""
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            name = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            key = f"{section}.{name}" if section else name
            if key in self.lines:
                raise self.error(line, f"{key} is set again; it was set in line {self.lines[key]}")
            self.lines[key] = line
            if key in self.sections:
                self._read_section(loader, value_node, key)
            elif key in self.known:
                self._check(value_node, key)
                self._put(key, loader.construct_object(value_node, deep=True))
            elif key in self.replaced:
                raise self.error(line, f"{key} is {self.replaced[key]} now: set that one")
            else:
                hint = did_you_mean(key, [*self.known, *self.sections])
                raise self.error(line, f"there is no field {key}{hint}")

    def _read_section(self, loader: Any, node: Any, name: str) -> None:
        if isinstance(node, yaml.MappingNode):
            self._read(loader, node, name)
        elif node.tag != "tag:yaml.org,2002:null":  # all fields of a section may be left out
            value = shown(node.value) if isinstance(node, yaml.ScalarNode) else "a list"
            example = next(each for each in self.known if each.startswith(f"{name}."))
            raise self.error(
                self.lines[name],
                f"{name} is a section with fields such as {example}, and cannot be {value}",
            )

    def _check(self, node: Any, key: str, depth: int = 2) -> None:
        """Refuse in a value what YAML would accept, though nobody can mean it."""
        line = node.start_mark.line + 1
        if depth > DEPTH:
            raise self.error(line, f"{key}: {DEEP}")
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for inner_key, inner in node.value:
                name = str(inner_key.value)
                if NO_SPACE.search("{" + name):
                    message = f"{key}: {name!r} needs a space after the colon, as in {SCHEDULE}"
                    raise self.error(line, message)
                if name in seen:
                    raise self.error(inner_key.start_mark.line + 1, f"{key} has {name} twice")
                seen.add(name)
                self._check(inner, key, depth + 1)
        elif isinstance(node, yaml.SequenceNode):
            for inner in node.value:
                self._check(inner, key, depth + 1)

    def _put(self, key: str, value: Any) -> None:
        section, _, name = key.rpartition(".")
        values = self.values.setdefault(section, {}) if section else self.values
        values[name] = value
