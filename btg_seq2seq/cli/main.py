"""The command ``btg``: finds the module of a subcommand, and prints errors for people.

Exit status: 0 for success; 1 for an error; 2 for a command line that cannot be understood; 130
after Ctrl-C and 143 after SIGTERM.
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

from btg_seq2seq.cli.commands import COMMANDS
from btg_seq2seq.errors import UsageError, UserError
from btg_seq2seq.plugins import load_plugins

FAILED, MISUSED = 1, 2
INTERRUPTED = 128 + signal.SIGINT  # the status that a shell expects after Ctrl-C
TERMINATED = 128 + signal.SIGTERM


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``btg COMMAND ...``."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] == ["--version"]:
        print(import_module("btg_seq2seq").__version__)
        return 0
    try:
        load_plugins()
    except UserError as error:
        print(f"btg: {' '.join(str(error).split())}", file=sys.stderr)
        return FAILED
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else MISUSED
    command, *rest = arguments
    if command not in COMMANDS:
        return refuse(command)
    try:
        with terminating():
            # Only this command is imported; it imports torch once it needs it.
            status: int = import_module(COMMANDS[command].module).main(rest)
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
    """Raised on SIGTERM: the command ends, and removes unfinished output."""


@contextmanager
def terminating() -> Iterator[None]:
    """Make SIGTERM raise ``Terminated``, so that a command can clean up."""

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
    """Print the error in one line."""
    print(f"btg {command}: {' '.join(message.split())}", file=sys.stderr)
    return status


def refuse(command: str) -> int:
    """Report an unknown command, and suggest a similar one."""
    from btg_seq2seq.options.wording import did_you_mean

    kind = "option" if command.startswith("-") else "command"
    hint = did_you_mean(command, COMMANDS) or "; btg --help lists all"
    print(f"btg: there is no {kind} {command!r}{hint}", file=sys.stderr)
    return MISUSED


def usage() -> str:
    """List the commands with their descriptions."""
    lines = [f"  {name:<14}{command.description}" for name, command in COMMANDS.items()]
    hint = "Run btg COMMAND --help for the options of a command."
    return "\n".join(["usage: btg COMMAND ...", "", *lines, "", hint])


if __name__ == "__main__":
    sys.exit(main())
