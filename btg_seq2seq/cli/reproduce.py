"""``btg reproduce``: the paper's tasks on real text, all systems under the same conditions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jsonargparse import Namespace

from btg_seq2seq.checks import at_least
from btg_seq2seq.console.arguments import add_quiet_option, silence_libraries
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import check_directory
from btg_seq2seq.console.progress import tracker
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.tasks.systems import SYSTEMS, find_system

if TYPE_CHECKING:
    from btg_seq2seq.tasks.reproduction.run import Place
    from btg_seq2seq.translation.translator import TranslationMode

DESCRIPTION = """Train and compare the systems of a task.

  btg reproduce en-ja --data DIRECTORY --systems seq2seq taught --seeds 0 1 2

The tasks are svo-sov/few-shot, svo-sov/novel-position, en-ja, en-zh/np, en-zh/vp, en-zh/pp,
cognition-20k, de-en/500, de-en/1000, de-en/4978, chr-en, en-chr and, from pretrained models,
de-en/4978/mbart, ml50/mn-en/mt5, ml50/mn-en/mbart50 and so on.

All systems have the same backbone, optimiser and number of steps, from one file per task. Decoding
settings are chosen on the dev set. Test sets are translated once, at the end. Ctrl-C is safe: the
same command goes on where it stopped, and does not repeat runs that are done.
"""


def main(arguments: Sequence[str]) -> int:
    """Run what is missing, and write the page of results."""
    parser = _parser()
    options = parser.parse_args(arguments)
    systems = [find_system(name) for name in dict.fromkeys(options.systems)]
    at_least(1, "--jobs", options.jobs)
    for seed in options.seeds:
        at_least(0, "--seeds", seed)
    check_directory("--output", options.output)
    from btg_seq2seq.tasks.registry import find_task
    from btg_seq2seq.tasks.reproduction.settings import TaskSettings, packaged_config

    task = find_task(options.task)
    settings = TaskSettings(options.config or packaged_config(task), task.changes)
    for system in systems:
        settings.train(system, 0, Path(options.output))  # refuses what cannot be run
    task.check(options.data, unchecked=options.unchecked)
    silence_libraries(options.quiet)
    from btg_seq2seq.tasks.reproduction.reproduce import reproduce
    from btg_seq2seq.tasks.reproduction.run import Place
    from btg_seq2seq.training.loop.progress import TrainingInterrupted

    messages = Messages("reproduce", options.quiet)
    output = Path(options.output)
    results = Path(options.results or output / "results")
    place = Place(
        Path(options.data),
        output,
        results,
        settings,
        options.unchecked,
        options.quiet,
        messages.say,
        tracker(options.quiet),
        _modes(options.modes),
    )
    page = Path(options.page or output / "results.md")
    try:
        reproduce(
            task,
            systems,
            list(dict.fromkeys(options.seeds)),
            place,
            page,
            overwrite=options.overwrite,
            at_once=options.jobs,
            arguments=_passed_on(options, place, page),
        )
    except TrainingInterrupted as interruption:
        before = str(interruption).partition("; the same command")[0]
        same = f"the same command{' without --overwrite' * options.overwrite}"
        print(f"btg reproduce: {before}; {same} goes on from there", file=sys.stderr)
        return interruption.status
    return 0


def _parser() -> OptionParser:
    parser = OptionParser("btg reproduce", description=DESCRIPTION)
    parser.add_argument("task", help="name of the task")
    parser.add_argument(
        "--data", default=".", help="directory with the files of the task; generated ones need none"
    )
    described = "; ".join(f"{name}: {system.title}" for name, system in SYSTEMS.items())
    many: dict[str, Any] = {"nargs": "+"}
    parser.add_argument(
        "--systems", type=str, default=list(SYSTEMS), help=f"systems to run. {described}", **many
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=[0],
        help="seeds of the models; several runs per system",
        **many,
    )
    parser.add_argument(
        "--modes",
        type=Literal["flat", "cky", "rescored"],
        default=["flat", "cky", "rescored"],
        help="modes that systems with a grammar are tested in. flat is always among them, and cky "
        "if rescored is; others can be added later by the same command",
        **many,
    )
    parser.add_argument("--output", default="runs/reproduce", help="directory for all runs")
    parser.add_argument(
        "--jobs", type=int, default=1, help="runs side by side, in processes of their own"
    )
    parser.add_argument("--config", help="settings to use instead of the task's own file")
    parser.add_argument("--results", help="directory for the results; OUTPUT/results unless given")
    parser.add_argument("--page", help="file for the page; OUTPUT/results.md unless given")
    parser.add_argument(
        "--unchecked",
        action="store_true",
        help="accept files with other line counts and checksums; results are marked",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="remove all of these runs first, then start them again",
    )
    add_quiet_option(parser)
    return parser


def _modes(named: Sequence[str]) -> list[TranslationMode]:
    """Return the modes to test, with those that they need."""
    wanted = {"flat", *named, *["cky"] * ("rescored" in named)}
    from btg_seq2seq.tasks.reproduction.tuning import MODES

    return [mode for mode in MODES if mode in wanted]


def _passed_on(options: Namespace, place: Place, page: Path) -> list[str]:
    """Options for processes of single runs."""
    passed = ["--data", options.data, "--output", options.output]
    passed += ["--results", str(place.results), "--page", str(page)]
    passed += ["--config", options.config] if options.config else []
    passed += ["--modes", *place.modes]
    return passed + [f"--{name}" for name in ("unchecked", "quiet") if options[name]]
