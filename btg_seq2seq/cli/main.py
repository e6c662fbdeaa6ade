"""The command ``btg``: finds the file that a subcommand is in, and tells errors to people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from btg_seq2seq.errors import UserError

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
FAILED = 1
INTERRUPTED = 130  # what a shell expects of a process that Ctrl-C has ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``btg COMMAND ...``: every command is a module of its own with a ``main``."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 2
    command, *rest = arguments
    if command == "--version":
        print(import_module("btg_seq2seq").__version__)
        return 0
    if command not in COMMANDS:
        print(f"btg: there is no command {command!r}\n\n{usage()}", file=sys.stderr)
        return 2
    try:
        # Only the command that is asked for is imported: the help of btg needs no torch.
        module = import_module(f"btg_seq2seq.cli.{command.replace('-', '_')}")
        status: int = module.main(rest)
    except UserError as error:
        return fail(command, str(error))
    except OSError as error:
        if error.errno is None:  # a library's; the system's own say what is full or forbidden
            raise
        return fail(command, f"{error.filename or 'the system'}: {error.strerror}")
    except KeyboardInterrupt:
        print(f"btg {command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    return status


def fail(command: str, message: str) -> int:
    """Say in one line what is wrong."""
    print(f"btg {command}: {' '.join(message.split())}", file=sys.stderr)
    return FAILED


def usage() -> str:
    """What there is to call."""
    lines = [f"  {name:<14}{what}" for name, what in COMMANDS.items()]
    return "\n".join(["usage: btg COMMAND ...", "", *lines, "", "btg COMMAND --help tells more."])


if __name__ == "__main__":
    sys.exit(main())
