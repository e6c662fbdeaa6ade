"""The help of a command: options as they are typed, and types in few words."""

from __future__ import annotations

import re
from argparse import SUPPRESS, Action, RawDescriptionHelpFormatter
from collections.abc import Mapping
from textwrap import fill
from textwrap import indent as indent_lines

from jsonargparse import DefaultHelpFormatter

from btg_seq2seq.options.wording import choices_of

NAME = re.compile(r"(?<![\w.-])`{0,2}([a-z]\w*(?:\.\w+)*)`{0,2}(?![\w.]*\w)")


class Formatter(RawDescriptionHelpFormatter, DefaultHelpFormatter):
    """jsonargparse's, with the paragraphs and examples of a description."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs to the terminal; indented lines, which are examples, stay lines."""
        parts = [
            part if part.startswith(" ") else fill(part, width, break_on_hyphens=False)
            for part in text.strip("\n").split("\n\n")
        ]
        return indent_lines("\n\n".join(parts), indent)

    def _get_default_metavar_for_optional(self, action: Action) -> str:
        choices = choices_of(getattr(action, "_typehint", None))
        return f"{{{','.join(choices)}}}" if choices else "VALUE"

    def _get_help_string(self, action: Action) -> str:
        """The help of an option with its type and, unless it is nothing, its default."""
        if action.nargs == 0 or not action.option_strings:  # flags and files have none
            return action.help or ""
        details = []
        kind = getattr(action, "_typehint", None)
        if kind is not None and not choices_of(kind):
            details.append(_readable(str(self._get_type_str(action))))
        if action.default not in (None, SUPPRESS, []):
            details.append("default: %(default)s")
        return f"{action.help or ''} ({', '.join(details)})" if details else action.help or ""


def _readable(kind: str) -> str:
    """The name of a type with its choices as they are typed: ``list[flat or cky]``."""
    return re.sub(
        r"Literal\[([^\]]*)\]", lambda match: match[1].replace("'", "").replace(", ", " or "), kind
    )


def with_options(text: str, section: str, options: Mapping[str, str]) -> str:
    """A help text with options for the fields that it names; ``options`` has that of each field."""

    def option(match: re.Match[str]) -> str:
        name = match[1]
        own = f"{section}.{name}" if section else name
        if own in options and ("_" in name or "``" in match[0]):
            return options[own]
        return options[name] if name in options and "." in name else match[0]

    return NAME.sub(option, text).replace("``", "")
