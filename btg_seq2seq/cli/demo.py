"""``btg demo``: a seq2seq model and a BTG model learn the same toy task, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from btg_seq2seq.console.arguments import add_quiet_option, silence_warnings
from btg_seq2seq.console.output import check_directory
from btg_seq2seq.options.parser import OptionParser

DESCRIPTION = """Train a seq2seq model and a BTG model on the same toy task, and show what the
grammar adds. English sentences of subject, verb and object are translated into a made-up language
that puts the verb last. The test sentences combine known phrases in new ways: a plain seq2seq model
fails on most of them, and a model that has found the phrases translates them. Takes about four
minutes on one core."""


def main(arguments: Sequence[str]) -> int:
    """Run the demonstration."""
    parser = OptionParser("btg demo", description=DESCRIPTION)
    parser.add_argument("--output", default="runs/demo", help="directory for the models and data")
    parser.add_argument("--seed", type=int, default=0, help="seed of the data and of both models")
    add_quiet_option(parser)
    options = parser.parse_args(arguments)
    check_directory("--output", options.output)
    silence_warnings(options.quiet)
    from btg_seq2seq.tasks import demo

    demo.run(Path(options.output), options.seed, options.quiet)
    return 0
