"""Messages of a command on stderr, beside its results; none with ``--quiet``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import fields

from btg_seq2seq.model.decoding_settings import DecodingSettings

SHOWN = 20  # messages of each kind
NAMES = "|".join(field.name for field in fields(DecodingSettings) if "_" in field.name)
SETTING = re.compile(rf"(?<![\w.'-])({NAMES})\b")


def with_options(message: str) -> str:
    """The message with settings as the command line spells them: ``--beam-size``."""
    return SETTING.sub(lambda match: "--" + match[1].replace("_", "-"), message)


class Messages:
    """Messages of a command.

    Args:
        command: that says them.
        quiet: say nothing. Errors are not messages: they are always shown.
    """

    def __init__(self, command: str, quiet: bool = False) -> None:
        self.command, self.quiet = command, quiet

    def say(self, message: str) -> None:
        """Tell people something that is no result."""
        if not self.quiet:
            print(f"btg {self.command}: {with_options(message)}", file=sys.stderr)

    def say_all(self, messages: Iterable[str], advice: str = "") -> None:
        """Say all messages of a kind: the first ones are shown, and the others counted."""
        kind = self.kind(advice)
        for message in messages:
            kind.say(message)
        kind.close()

    def kind(self, advice: str = "") -> Kind:
        """Messages of a kind, as they come; ``advice`` says where to find all of them."""
        return Kind(self, advice)


class Kind:
    """Messages of one kind; the first ones are shown, and the others counted."""

    def __init__(self, messages: Messages, advice: str) -> None:
        self.messages, self.advice, self.count = messages, advice, 0

    def say(self, message: str) -> None:
        """Say it, unless there were many of this kind already."""
        self.count += 1
        if self.count <= SHOWN:
            self.messages.say(message)

    def close(self) -> None:
        """Say how many messages there were beyond those that were shown."""
        if self.count > SHOWN:
            self.messages.say(f"and {self.count - SHOWN} more{self.advice}")
