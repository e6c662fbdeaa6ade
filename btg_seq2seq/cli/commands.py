"""The subcommands of ``btg``, by name; ``register_command`` adds commands of other packages.

Not in ``main``, which is another module when it runs as ``python -m btg_seq2seq.cli.main``.
"""

from __future__ import annotations

from typing import NamedTuple

from btg_seq2seq.errors import UserError


class Command(NamedTuple):
    """A subcommand: one line of help, and the module whose ``main(arguments)`` runs it."""

    description: str
    module: str


COMMANDS: dict[str, Command] = {
    name: Command(description, f"btg_seq2seq.cli.{name.replace('-', '_')}")
    for name, description in {
        "demo": "train on a toy task and show what the grammar adds",
        "train": "train a model from a YAML file",
        "report": "a page about one or several training runs",
        "translate": "translate lines of text, with rules that are obeyed",
        "serve": "models in the browser, and behind APIs that other programs speak",
        "evaluate": "score translations of a test set",
        "tune": "choose decoding settings on a dev set",
        "score": "probability of given translations",
        "align": "word alignments of a bitext",
        "biparse": "aligned phrases of any bitext, without a model",
        "draw": "pictures of derivations",
        "phrase-table": "the phrase pairs that a model knows",
        "augment": "new sentence pairs, recombined from the phrases of a bitext",
        "reproduce": "the paper's tasks: train systems, compare and report them",
    }.items()
}


def register_command(name: str, description: str, module: str) -> None:
    """Add a subcommand.

    ``module`` is imported when the command runs. Its ``main(arguments)`` returns the exit status,
    and may raise ``UserError`` for what the user can correct.
    """
    command = Command(description, module)
    if COMMANDS.setdefault(name, command) != command:
        raise UserError(f"there is another command of the name {name!r}")
