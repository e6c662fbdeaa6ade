"""The command ``btg``: finds the file that a subcommand is in, and prints errors for people.

Exit status: 0; 1 for what went wrong; 2 for a command line that cannot be understood; 130 after
Ctrl-C and 143 after SIGTERM.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType

from btg_seq2seq.errors import UsageError, UserError

COMMANDS = {
    "demo": "train on a toy task and show what the grammar adds",
    "train": "train a model from a YAML file",
    "translate": "translate lines of text, with rules that are obeyed",
    "evaluate": "score translations of a test set",
    "score": "probability of given translations",
    "align": "word alignments of a bitext",
    "phrase-table": "the phrase pairs that a model knows",
    "augment": "new sentence pairs, recombined from the phrases of a bitext",
}
FAILED, MISUSED = 1, 2
INTERRUPTED = 128 + signal.SIGINT  # what a shell expects of a process that Ctrl-C has ended
TERMINATED = 128 + signal.SIGTERM


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``btg COMMAND ...``: every command is a module of its own with a ``main``."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else MISUSED
    command, *rest = arguments
    if command == "--version":
        print(import_module("btg_seq2seq").__version__)
        return 0
    if command not in COMMANDS:
        return refuse(command)
    try:
        with terminating():
            # Only the command that is asked for is imported, and torch once it is needed.
            module = import_module(f"btg_seq2seq.cli.{command.replace('-', '_')}")
            status: int = module.main(rest)
    except UsageError as error:
        return fail(command, str(error), MISUSED)
    except UserError as error:
        return fail(command, str(error))
    except OSError as error:
        if error.errno is None:  # a library's; the system's own say what is full or forbidden
            raise
        return fail(command, f"{error.filename or 'the system'}: {error.strerror}")
    except KeyboardInterrupt:
        return fail(command, "interrupted", INTERRUPTED)
    except Terminated:
        return fail(command, "terminated", TERMINATED)
    finally:
        gc.unfreeze()  # see ``without_collecting``
    return status


class Terminated(SystemExit):
    """SIGTERM: the command ends, and removes what it has not finished."""


@contextmanager
def terminating() -> Iterator[None]:
    """Let SIGTERM raise ``Terminated``, so that a command can clean up."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it at once
        raise Terminated(TERMINATED)

    if threading.current_thread() is not threading.main_thread():  # others cannot handle signals
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def fail(command: str, message: str, status: int = FAILED) -> int:
    """Say in one line what is wrong."""
    print(f"btg {command}: {' '.join(message.split())}", file=sys.stderr)
    return status


def refuse(command: str) -> int:
    """Say that there is no such command, and which one may be meant."""
    from btg_seq2seq.options.wording import did_you_mean

    kind = "option" if command.startswith("-") else "command"
    hint = did_you_mean(command, COMMANDS) or "; btg --help lists all"
    print(f"btg: there is no {kind} {command!r}{hint}", file=sys.stderr)
    return MISUSED


def usage() -> str:
    """The commands, and what each is for."""
    lines = [f"  {name:<14}{what}" for name, what in COMMANDS.items()]
    return "\n".join(["usage: btg COMMAND ...", "", *lines, "", "btg COMMAND --help tells more."])


if __name__ == "__main__":
    sys.exit(main())
