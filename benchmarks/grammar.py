"""Fast path, portable path and textbook loops of the dynamic programs, side by side.

    python -m benchmarks.grammar [--quick] [--output FILE.json] [--markdown README.md]

One run, interleaved repetitions, minima. The three must agree before anything is timed. Ends with
the bars the grammar must reach; the exit code is 1 if one fails. A dash in the table is a textbook
run that would have taken too long: not measured, and not guessed.
"""

import argparse
import itertools
import json
import sys
from typing import Any

import torch

from benchmarks import harness
from benchmarks.grammar_cases import (
    DIVERGENCE,
    LOG_PARTITION,
    MEASURES,
    PATHS,
    Outcome,
    Problem,
    Size,
    check_agreement,
)

BAR_SIZE = Size(16, 32, 5)
MEMORY_SIZE = Size(64, 64, 8)
WARM_UP_SIZE = Size(16, 16, 8)  # large enough for the kernels to use their threads

SINGLE_RUN = 2.0  # seconds: a textbook run that takes longer is not repeated
TEXTBOOK_TOTAL = 330.0  # seconds: all textbook runs together, bars excepted

RATIOS = (("textbook", "fast"), ("textbook", "portable"), ("portable", "fast"))
HEADER = ["milliseconds", "B", "L", "N", *PATHS]
HEADER += [f"{slow}/{quick}" for slow, quick in RATIOS]
NOTES = (
    "B sentences of L tokens in N segments (the leaf CRF: L target tokens), float32 scores. "
    "Each figure is the fastest of several interleaved calls, from scores to result; a textbook "
    f"run of more than {SINGLE_RUN:g} s is a single one, except where a bar rests on it.",
    "Extra memory: how far the resident set of a fresh process rises, at its peak, above its level "
    "before the call (inputs allocated and touched, kernels compiled, threads started), minus the "
    "gradients the caller keeps; 1 MB = 1,000,000 bytes.",
)
BUSY_NOTE = (
    "* The machine was busy with something else: this time and its ratios are too high. "
    "Bars take the textbook's processor time then."
)


class Textbook:
    """Decides whether a textbook run is affordable, from the rate of the one before it."""

    def __init__(self, cell_seconds: float) -> None:
        self.cell_seconds = cell_seconds
        self.spent = 0.0
        self.rates: dict[str, float] = {}  # seconds a rule, by measure
        problem = Problem(Size(16, 10, 3))
        problem.draw_trees()
        for measure in MEASURES:
            self.run(problem, measure)

    def run(self, problem: Problem, measure: str) -> tuple[Outcome, harness.Timing]:
        """One timed run, remembered."""
        outcome, timing = harness.timed(problem.call(measure, "textbook"))
        self.rates[measure] = timing.seconds / problem.textbook_rules(measure)
        self.spent += timing.seconds
        return outcome, timing

    def affordable(self, problem: Problem, measure: str) -> bool:
        """True if the textbook is to be run; always if a bar needs it."""
        expected = self.rates[measure] * problem.textbook_rules(measure)
        within = expected <= self.cell_seconds and self.spent + expected <= TEXTBOOK_TOTAL
        return within or needed_by_bar(problem.size, measure)


def needed_by_bar(size: Size, measure: str) -> bool:
    """True if a bar needs the textbook's time."""
    return size == BAR_SIZE and measure in (LOG_PARTITION, DIVERGENCE)


def measure_cell(
    problem: Problem, measure: str, yardstick: Textbook, seconds: float
) -> dict[str, Any]:
    """Agreement, then times, of one measure at one size."""
    calls = {path: problem.call(measure, path) for path in ("fast", "portable")}
    outcomes = {path: call() for path, call in calls.items()}  # also the warm-up
    first_run = None
    if yardstick.affordable(problem, measure):
        outcomes["textbook"], first_run = yardstick.run(problem, measure)
        # A bar must not rest on one run that a busy moment of the machine may have stretched.
        if first_run.seconds <= SINGLE_RUN or needed_by_bar(problem.size, measure):
            calls["textbook"] = problem.call(measure, "textbook")
    deviations = check_agreement(measure, problem.size, outcomes)
    del outcomes
    timings = harness.interleaved_minima(calls, seconds)
    if first_run is not None:
        repeated = [timings["textbook"]] if "textbook" in timings else []
        yardstick.spent += sum(timing.seconds * timing.calls for timing in repeated)
        timings["textbook"] = harness.fastest([first_run, *repeated])
    textbook = timings.get("textbook")
    return {
        "measure": measure,
        **problem.size._asdict(),
        "seconds": {path: timings[path].seconds if path in timings else None for path in PATHS},
        "calls": {path: timing.calls for path, timing in timings.items()},
        "textbook_processor_seconds": textbook.processor_seconds if textbook else None,
        "textbook_waited": textbook.waited if textbook else False,
        "relative_deviation_from_fast": deviations,
    }


def measure_memory(measure: str) -> dict[str, Any]:
    """Run in a fresh process: extra memory of the fast path at MEMORY_SIZE."""
    Problem(WARM_UP_SIZE).call(measure, "fast")()
    problem = Problem(MEMORY_SIZE)  # random numbers: every page of the inputs is touched
    (_, gradients), peak, method = harness.peak_memory(problem.call(measure, "fast"))
    returned = sum(gradient.nbytes for gradient in gradients)
    extra = {"peak_bytes": peak, "gradient_bytes": returned, "extra_bytes": peak - returned}
    how = {"method": method, "threads": torch.get_num_threads()}
    return {"measure": measure, **MEMORY_SIZE._asdict(), **extra, **how}


def table_rows(cells: list[dict[str, Any]]) -> list[list[str]]:
    """Sorted by measure, then size."""
    rows = []
    for cell in sorted(cells, key=lambda cell: MEASURES.index(cell["measure"])):
        seconds = cell["seconds"]
        row = [cell["measure"], str(cell["batch"]), str(cell["length"]), str(cell["segments"])]
        row += [harness.milliseconds(seconds[path]) for path in PATHS]
        row[-1] += "*" if cell["textbook_waited"] else ""
        row += [harness.ratio(seconds[slow], seconds[quick]) for slow, quick in RATIOS]
        rows.append(row)
    return rows


def bars(cells: list[dict[str, Any]], memory: list[dict[str, Any]]) -> list[harness.Bar]:
    """The bars of the grammar.

    Where the textbook, which uses one thread, had to wait for the processor, its processor time
    counts: a busy machine cannot make a bar pass.
    """
    at_bar = {
        cell["measure"]: cell
        for cell in cells
        if (cell["batch"], cell["length"], cell["segments"]) == BAR_SIZE
    }
    textbook = {
        measure: cell["textbook_processor_seconds"]
        if cell["textbook_waited"]
        else cell["seconds"]["textbook"]
        for measure, cell in at_bar.items()
    }
    where = "at B={}, L={}, N={}"
    required = [("fast", LOG_PARTITION, 200), ("fast", DIVERGENCE, 500)]
    required += [("portable", LOG_PARTITION, 10), ("portable", DIVERGENCE, 10)]
    found = [
        harness.Bar(
            f"{measure}, {path} against textbook {where.format(*BAR_SIZE)}",
            textbook[measure] / at_bar[measure]["seconds"][path],
            bound,
            "x",
        )
        for path, measure, bound in required
    ]
    for entry in memory:
        description = f"{entry['measure']}, fast, extra memory {where.format(*MEMORY_SIZE)}"
        description += f" (threads: {entry['threads']})"  # each thread has its own tables
        extra = entry["extra_bytes"] / harness.MEGABYTE
        found.append(harness.Bar(description, extra, 64, " MB", at_least=False))
    return found


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = harness.arguments("grammar", __doc__)
    parser.add_argument("--batch", type=int, nargs="+", help="default 16 64; quick: 16")
    parser.add_argument("--length", type=int, nargs="+", help="default 16 32 64; quick: 16 32")
    parser.add_argument("--segments", type=int, nargs="+", help="default 3 5 8; quick: 3 5")
    parser.add_argument("--quick", action="store_true", help="few sizes, few repetitions")
    parser.add_argument("--seconds", type=float, help="for repetitions of one measure at one size")
    parser.add_argument(
        "--textbook-seconds", type=float, help="skip a textbook run expected longer"
    )
    parser.add_argument("--memory", choices=MEASURES, help=argparse.SUPPRESS)
    return parser.parse_args()


def report_progress(text: str) -> None:
    """To the terminal, not into the table."""
    print(text, file=sys.stderr, flush=True)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The whole benchmark; everything it found."""
    grid = [
        options.batch or ([16] if options.quick else [16, 64]),
        options.length or ([16, 32] if options.quick else [16, 32, 64]),
        options.segments or ([3, 5] if options.quick else [3, 5, 8]),
    ]
    sizes = {Size(*numbers) for numbers in itertools.product(*grid)} | {BAR_SIZE}
    seconds = options.seconds or (0.5 if options.quick else 2.0)
    cell_seconds = options.textbook_seconds or (3.0 if options.quick else 20.0)
    yardstick = Textbook(cell_seconds)
    cells = []
    for size in sorted(sizes):
        problem = Problem(size)
        problem.draw_trees()
        for measure in MEASURES:
            report_progress(f"B={size.batch} L={size.length} N={size.segments}: {measure}")
            cells.append(measure_cell(problem, measure, yardstick, seconds))
    memory = []
    threads = str(torch.get_num_threads())
    for measure in (LOG_PARTITION, DIVERGENCE):
        report_progress(f"extra memory: {measure}")
        arguments = ("--memory", measure, "--threads", threads)
        memory.append(harness.in_fresh_process("benchmarks.grammar", *arguments))
    settings = {"seconds": seconds, "textbook_seconds": cell_seconds}
    return {"settings": settings, "cells": cells, "memory": memory}


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "grammar")
    if options.memory:
        print(json.dumps(measure_memory(options.memory)))
        return 0
    found = run(options)
    cells = found["cells"]
    notes = [*NOTES, *[BUSY_NOTE] * any(cell["textbook_waited"] for cell in cells)]
    reached = bars(cells, found["memory"])
    report = harness.Report("grammar", " ".join(notes), HEADER, table_rows(cells), reached)
    return report.write(options, **found)


if __name__ == "__main__":
    sys.exit(main())
