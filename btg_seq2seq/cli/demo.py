"""``btg demo``: a seq2seq model and a BTG model learn the same toy task, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from btg_seq2seq.console.arguments import add_quiet_option, silence_warnings
from btg_seq2seq.console.output import check_directory
from btg_seq2seq.options.parser import OptionParser

DESCRIPTION = """Train a seq2seq model and a BTG model on the same toy task, and show what the
grammar adds. In SVO-SOV sentences, a subject, a verb and an object, each a phrase of random words,
become subject, object, verb. The test puts known phrases in new company: what a plain seq2seq model
has learned by heart does not help, phrases that were found do."""


def main(arguments: Sequence[str]) -> int:
    """Run the demonstration."""
    parser = OptionParser("btg demo", description=DESCRIPTION)
    parser.add_argument("--output", default="runs/demo", help="directory for models and test set")
    parser.add_argument("--seed", type=int, default=0, help="of the data and of both models")
    add_quiet_option(parser)
    options = parser.parse_args(arguments)
    check_directory("--output", options.output)
    silence_warnings(options.quiet)
    from btg_seq2seq.tasks import demo

    demo.run(Path(options.output), options.seed, options.quiet)
    return 0
