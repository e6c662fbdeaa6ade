"""``btg report``: the page of one or several training runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from btg_seq2seq import __version__
from btg_seq2seq.console.arguments import add_quiet_option
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import check_outputs
from btg_seq2seq.drawing.colours import ThemeName
from btg_seq2seq.drawing.drawing import write_file
from btg_seq2seq.errors import UsageError
from btg_seq2seq.options.parser import OptionParser

DESCRIPTION = """Write one HTML page about a training run, finished or not: loss and its terms, dev
scores, tree statistics, phrase lengths over time, dev sentences drawn at several checkpoints,
settings and environment. Several runs are shown side by side, and settings that differ are
highlighted. The page is self-contained: one file that loads nothing and runs no script."""

SUFFIXES = (".html", ".htm")


def main(arguments: Sequence[str]) -> int:
    """Write the report."""
    options = _parser().parse_args(arguments)
    if not options.output.lower().endswith(SUFFIXES):
        raise UsageError(f"--output {options.output}: the name of a page ends in .html")
    check_outputs({"--output": options.output}, [])
    from btg_seq2seq.reporting.page import report
    from btg_seq2seq.reporting.run_files import read_runs

    messages = Messages("report", options.quiet)
    runs = read_runs(options.runs)
    for run in runs:
        messages.say_all(f"{run.directory}: {problem}" for problem in run.problems)
    made = f"btg-seq2seq {__version__}, {datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"
    write_file(options.output, report(runs, options.theme, made).encode())
    if not options.quiet:
        print(options.output)
    return 0


def _parser() -> OptionParser:
    parser = OptionParser("btg report", description=DESCRIPTION)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="directory of a run of btg train")
    parser.add_argument("--output", metavar="FILE", default="report.html", help="name of the page")
    parser.add_argument(
        "--theme",
        type=ThemeName,
        default="auto",
        help="colours; auto follows the settings of the reader",
    )
    add_quiet_option(parser)
    return parser
