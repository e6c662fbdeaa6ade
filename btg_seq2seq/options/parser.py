"""A command line: jsonargparse, with files anywhere, dashes in names, and errors of one line.

jsonargparse knows options, types and defaults. Here a command line is put into the order that it
needs, and what it finds wrong is said in words.
"""

from __future__ import annotations

import re
from argparse import SUPPRESS, Action
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from jsonargparse import ArgumentParser, Namespace, set_loader, set_parsing_settings
from yaml import YAMLError  # type: ignore[import-untyped]

from btg_seq2seq.errors import UsageError
from btg_seq2seq.options.help import Formatter, with_options
from btg_seq2seq.options.wording import choices_of, did_you_mean, refused
from btg_seq2seq.options.yaml_file import load_value

HELP = ("-h", "--help")
MODE = "btg-yaml"  # our own, since the one of jsonargparse crashes on deep nesting
KEY = re.compile(r'Parser key "([^"]+)"')
REQUIRED = "the following arguments are required: "


@dataclass(frozen=True)
class Given:
    """A command line, taken apart: files, and options with their values."""

    files: list[str]
    options: list[tuple[str, list[str]]]

    @property
    def in_order(self) -> list[str]:
        """Options first, each with its value, and then files."""
        arguments = []
        for name, values in self.options:
            # Joined, a value may begin with a dash.
            arguments += [f"{name}={values[0]}"] if len(values) == 1 else [name, *values]
        return [*arguments, "--", *self.files] if self.files else arguments


class OptionParser(ArgumentParser):
    """A parser of one command.

    Args:
        prog: the command, ``"btg train"``.
        moved: options that are no more, with what to say instead.
        options: those of ``ArgumentParser``.
    """

    def __init__(self, prog: str, moved: Mapping[str, str] | None = None, **options: Any) -> None:
        set_parsing_settings(docstring_parse_attribute_docstrings=True)  # they are the help
        set_loader(MODE, load_value, (YAMLError, RecursionError))
        options = {"formatter_class": Formatter, **options}
        super().__init__(prog=prog, allow_abbrev=False, parser_mode=MODE, **options)
        self.moved = moved or {}
        self.given = Given([], [])
        self._object: Mapping[str, Any] | None = None  # while one is parsed

    # ---- names -------------------------------------------------------------------------------

    def spell_with_dashes(self) -> None:
        """Make ``--beam-size`` of ``--beam_size``; both are understood."""
        for action in self._actions:
            action.option_strings = [name.replace("_", "-") for name in action.option_strings]
            self._option_string_actions.update(dict.fromkeys(action.option_strings, action))
            if type(action).__name__ == "_ActionConfigLoad":  # a section: its fields are options
                action.help = SUPPRESS
                for name in action.option_strings:
                    del self._option_string_actions[name]

    @property
    def _first_names(self) -> list[tuple[Action, str]]:
        named = [action for action in self._actions if action.option_strings]
        return [(action, action.option_strings[-(action.dest == "help")]) for action in named]

    @property
    def names(self) -> list[str]:
        """All options as help shows them."""
        return [name for action, name in self._first_names if action.help != SUPPRESS]

    @property
    def given_fields(self) -> set[str]:
        """The fields that the last command line has set, as they are called in files."""
        given = {name for name, _ in self.given.options}
        return {action.dest for action in self._actions if given & {*action.option_strings}}

    @property
    def positionals(self) -> list[Action]:
        """The files, and the like, that a command takes."""
        return [action for action in self._actions if not action.option_strings]

    @property
    def synopsis(self) -> str:
        """The command with its files: ``btg align MODEL SOURCE TARGET``."""
        forms = {"?": "[{}]", "+": "{} ...", "*": "[{} ...]"}
        files = [
            forms.get(str(action.nargs), "{}").format(_shown_name(action))
            for action in self.positionals
        ]
        return " ".join([self.prog, *files])

    def format_help(self, formatter: Any = None) -> str:
        self.spell_with_dashes()
        options = {action.dest: name for action, name in self._first_names}
        for action, _ in self._first_names:
            if action.help is not None and action.help != SUPPRESS:
                action.help = with_options(action.help, action.dest.rpartition(".")[0], options)
        if self.usage is None:
            self.usage = f"{self.synopsis} [--OPTION VALUE ...]".replace("%", "%%")
        return super().format_help()

    def set_choices(self, field: str, choices: Mapping[str, str]) -> None:
        """Restrict a text field to names that are known only now, each with its help."""
        action: Any = next(action for action in self._actions if action.dest == field)
        action._typehint = Literal[tuple(choices)]
        listed = "; ".join(f"{name}: {summary}" for name, summary in choices.items())
        action.help = f"{action.help} Choices are {listed}."

    # ---- parsing -----------------------------------------------------------------------------

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: Namespace | None = None, **options: Any
    ) -> Namespace:
        """Parse a command line; ``namespace`` has values that it may change."""
        self.given = self.split(args)
        parsed: Namespace = super().parse_args(self.given.in_order, namespace, **options)
        return parsed

    def parse_values(self, values: Mapping[str, Any]) -> Namespace:
        """Parse settings that were read from a file, in sections."""
        self._object = values
        try:
            parsed: Namespace = self.parse_object(dict(values))
            return parsed
        finally:
            self._object = None

    def split(self, arguments: Sequence[str]) -> Given:
        """Take a command line apart; an option that does not exist is an error."""
        self.spell_with_dashes()
        if any(argument in HELP for argument in _before_dashes(arguments)):
            return Given([], [("--help", [])])
        files: list[str] = []
        options: list[tuple[str, list[str]]] = []
        many: list[tuple[int, list[str]]] = []  # files before an option that takes many values
        rest = list(arguments)
        while rest:
            argument = rest.pop(0)
            if argument == "--":
                if argument in rest:  # argparse would take both for marks
                    raise UsageError("-- names no file: write ./--")
                files += rest
                break
            if not argument.startswith("-") or argument == "-":
                files.append(argument)
                continue
            name, equals, value = argument.partition("=")
            name = name.replace("_", "-")
            action = self._option_string_actions.get(name)
            if action is None:
                self._refuse(name)
            values = [value] if equals else self._values(name, action, rest)
            options.append((name, values))
            if action.nargs == "+":
                many.append((len(files), values))
        self._return_files(files, many)
        takes_many = any(action.nargs in ("+", "*") for action in self.positionals)
        if len(files) > len(self.positionals) and not takes_many:
            extra = " ".join(files[len(self.positionals) :])
            raise UsageError(f"{extra!r} is too much: {self.synopsis}")
        return Given(files, options)

    def _values(self, name: str, action: Action, rest: list[str]) -> list[str]:
        """Take the values of an option from what follows it."""
        if action.nargs == 0:
            return []
        values: list[str] = []
        while rest and not rest[0].startswith("--") and (action.nargs == "+" or not values):
            values.append(rest.pop(0))
        if not values:
            kind = getattr(action, "_typehint", None)
            choices = choices_of(kind)
            wanted = f": one of {', '.join(choices)}" if choices else ""
            raise UsageError(f"{name} needs a value{wanted}")
        return values

    def _return_files(self, files: list[str], many: list[tuple[int, list[str]]]) -> None:
        """Give back the files that options took which take many: ``--exclude A B MODEL SOURCE``."""
        missing = sum(action.nargs is None for action in self.positionals) - len(files)
        for place, values in reversed(many):
            if 0 < missing < len(values):
                files[place:place] = values[-missing:]
                del values[-missing:]
                return

    # ---- errors ------------------------------------------------------------------------------

    def _refuse(self, name: str) -> NoReturn:
        if name in self.moved:
            raise UsageError(self.moved[name])
        sections = [known for known in self.names if known.startswith(f"{name}.")]
        if sections:
            raise UsageError(f"{name} is a section; its fields are options, such as {sections[0]}")
        hint = did_you_mean(name, self.names)
        raise UsageError(f"there is no option {name}{hint or f'; see {self.prog} --help'}")

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say in one line what is wrong."""
        raise UsageError(self._explained(message)) from ex

    def _explained(self, message: str) -> str:
        if message.startswith(REQUIRED):
            return self._missing(message.removeprefix(REQUIRED).split(", "))
        match = KEY.search(message)
        if match is not None:
            action = next((each for each in self._actions if each.dest == match[1]), None)
            kind = getattr(action, "_typehint", None)
            if action is not None and kind is not None:
                name = match[1] if self._object is not None else action.option_strings[0]
                return refused(name, self._value(action), kind)
        return " ".join(message.replace("argument --", "--").split())

    def _missing(self, names: Sequence[str]) -> str:
        actions = [action for action in self._actions if action.dest in names]
        *first, last = map(_shown_name, actions)
        shown = f"{', '.join(first)} and {last}" if first else last
        are = "are" if len(actions) > 1 else "is"
        options = [f" {name} ..." for name in map(_shown_name, actions) if name.startswith("-")]
        return f"{shown} {are} missing: {self.synopsis}{''.join(options)}"

    def _value(self, action: Action) -> Any:
        """The value that was given for an option or a field."""
        if self._object is not None:
            value: Any = self._object
            for part in action.dest.split("."):
                value = value[part]
            return value
        values = [values for name, values in self.given.options if name in action.option_strings]
        return values[-1][0] if values and values[-1] else None


def _before_dashes(arguments: Sequence[str]) -> list[str]:
    arguments = list(arguments)
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _shown_name(action: Action) -> str:
    if action.option_strings:
        return action.option_strings[0]
    return str(action.metavar or action.dest.upper())
