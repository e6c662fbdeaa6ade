"""The result table of the README: three systems, both splits of SVO-SOV, median and worst seed.

``benchmarks.svo_sov --readme README.md`` writes it from the files of single runs. Baselines without
such files are taken from the table of earlier runs in ``docs/benchmarks.md``, which the same
benchmark wrote.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, get_args

from benchmarks import harness
from btg_seq2seq.tasks.svo_sov import Split

PAGE = Path("docs/benchmarks.md")
SECTION = "summary"
# Row, system of the runs, and the column of their results.
ROWS = [
    ("plain seq2seq", "seq2seq", "test flat"),
    ("BTG-1 (flat)", "btg", "test flat"),
    ("BTG-N (cky)", "btg", "test cky"),
]
NOTE = (
    "Percent of test sentences translated exactly on SVO-SOV, the paper's toy task: median over "
    "{seeds} seeds, worst seed in brackets."
)
EARLIER = " The row of plain seq2seq is from earlier runs, with more steps."


def cell(values: Sequence[float]) -> str:
    """Format the median and the worst of some seeds."""
    return f"{median(values):.2f} ({min(values):.2f})"


def earlier_cell(page: str, split: str, system: str) -> str:
    """Find the flat result of a system in the table of earlier runs."""
    row = rf"^\| {re.escape(split)} \| {re.escape(system)} \|[^|]*\|[^|]*\| ([^|]+) \|"
    found = re.search(row, page.partition("### Earlier runs")[2], re.MULTILINE)
    return found[1] if found else harness.NOT_MEASURED


def summary(results: Sequence[dict[str, Any]], page: str) -> str:
    """Return the note and the table, as Markdown."""
    rows, is_earlier = [], False
    for name, system, column in ROWS:
        cells = []
        for split in get_args(Split):
            own = [one for one in results if (one["split"], one["system"]) == (split, system)]
            is_earlier |= not own
            cells.append(
                cell([one[column] for one in own]) if own else earlier_cell(page, split, system)
            )
        rows.append([name, *cells])
    table = harness.markdown_table(["", *get_args(Split)], rows)
    note = NOTE.format(seeds=len({one["seed"] for one in results}))
    return f"{table}\n\n{note}{EARLIER if is_earlier else ''}"


def write_summary(readme: Path, results: Sequence[dict[str, Any]]) -> None:
    """Replace the table in the README."""
    body = summary(results, PAGE.read_text(encoding="utf-8"))
    harness.replace_section(readme, SECTION, body)
