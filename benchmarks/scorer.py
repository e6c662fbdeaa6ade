"""Scores of all splits: fused kernels, portable path, and the textbook's table of hidden units.

    python -m benchmarks.scorer [--output FILE.json] [--markdown FILE.md]

Forward and backward, one run, interleaved repetitions, minima; the three must agree before anything
is timed. The textbook is the same factored function with its hidden layer written down,
[batch, splits, width]. Ends with the bars; the exit code is 1 if one fails.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks import harness
from btg_seq2seq.grammar import splits
from btg_seq2seq.grammar.split_scores import split_scores

PATHS = ("fast", "portable", "textbook")
RATIOS = (("textbook", "fast"), ("textbook", "portable"), ("portable", "fast"))
HEADER = ["milliseconds", "B", "L", "width", "outputs", *PATHS]
HEADER += [f"{slow}/{quick}" for slow, quick in RATIOS]
HEADER += [f"{path} MB" for path in PATHS]
NOTES = (
    "Scores of all splits of B sentences of L tokens, forward and backward, float32. Each figure "
    "is the fastest of several interleaved calls. MB: how far the resident set rises, at its peak, "
    "above its level before the call; 1 MB = 1,000,000 bytes.",
)
# Sums of up to 10^5 float32 numbers in three different orders; measured: below 1e-5.
TOLERANCE = 1e-4

Call = Callable[[], list[Tensor]]


class Size(NamedTuple):
    """One problem."""

    batch: int
    length: int
    width: int
    outputs: int


SIZES = [Size(16, 16, 128, 2), Size(16, 32, 128, 1), Size(16, 32, 128, 2), Size(32, 48, 128, 2)]
BAR_SIZE = Size(16, 32, 128, 2)


def textbook_scores(left: Tensor, middle: Tensor, right: Tensor, output: Tensor) -> Tensor:
    start, split, stop = splits(left.shape[1] - 1).unbind(-1)
    hidden = (left[:, start] + middle[:, split] + right[:, stop]).relu()  # [batch, splits, width]
    return hidden @ output.t()


def make_calls(size: Size) -> dict[str, Call]:
    """Each returns scores and gradients, for the same random features."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(size.batch, size.length + 1, size.width)] * 3 + [(size.outputs, size.width)]
    inputs = [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]
    left, middle, right, output = inputs
    count = len(splits(size.length))
    gradient = torch.randn(size.batch, count, size.outputs, generator=generator)

    def call(path: str) -> list[Tensor]:
        if path == "textbook":
            scores = textbook_scores(left, middle, right, output)
        elif path == "fast":
            scores = split_scores(left, middle, right, output, kernels="fast")
        else:
            scores = split_scores(left, middle, right, output, kernels="portable")
        return [scores.detach(), *torch.autograd.grad(scores, inputs, gradient)]

    return {path: lambda path=path: call(path) for path in PATHS}  # type: ignore[misc]


def check_agreement(size: Size, outcomes: dict[str, list[Tensor]]) -> dict[str, float]:
    """Largest deviation from the fast path, relative to the largest entry; error if too large."""
    deviations = {}
    for path in ("portable", "textbook"):
        pairs = zip(outcomes["fast"], outcomes[path], strict=True)
        worst = max(float((own - other).abs().max() / other.abs().max()) for own, other in pairs)
        if not worst < TOLERANCE:
            raise AssertionError(f"{size}: {path} and fast differ by {worst:.1e}")
        deviations[path] = worst
    return deviations


def measure(size: Size, seconds: float) -> dict[str, Any]:
    """Agreement, then memory, then times at one size."""
    calls = make_calls(size)
    deviations = check_agreement(size, {path: call() for path, call in calls.items()})
    memory = {path: harness.peak_memory(call)[1] for path, call in calls.items()}
    timings = harness.interleaved_minima(calls, seconds)
    return {
        **size._asdict(),
        "seconds": {path: timing.seconds for path, timing in timings.items()},
        "peak_bytes": memory,
        "relative_deviation_from_fast": deviations,
    }


def table_row(cell: dict[str, Any]) -> list[str]:
    seconds = cell["seconds"]
    row = ["split scores", *(str(cell[field]) for field in Size._fields)]
    row += [harness.milliseconds(seconds[path]) for path in PATHS]
    row += [harness.ratio(seconds[slow], seconds[quick]) for slow, quick in RATIOS]
    return row + [
        harness.significant(cell["peak_bytes"][path] / harness.MEGABYTE) for path in PATHS
    ]


def bars(cells: list[dict[str, Any]]) -> list[harness.Bar]:
    """The bars of the scorer, as ratios: they hold on any machine."""
    cell = next(cell for cell in cells if Size(*(cell[f] for f in Size._fields)) == BAR_SIZE)
    seconds = cell["seconds"]
    where = "against textbook at B={}, L={}, width={}, outputs={}".format(*BAR_SIZE)
    return [
        harness.Bar(f"{path} {where}", seconds["textbook"] / seconds[path], bound, "x")
        for path, bound in (("fast", 45), ("portable", 2))
    ]


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    parser = harness.arguments("scorer", __doc__)
    parser.add_argument("--quick", action="store_true", help="only the size of the bars")
    parser.add_argument("--seconds", type=float, default=4.0, help="for repetitions at one size")
    options = parser.parse_args()
    harness.begin(options, "scorer")
    sizes = [BAR_SIZE] if options.quick else SIZES
    cells = [measure(size, options.seconds) for size in sizes]
    rows = [table_row(cell) for cell in cells]
    report = harness.Report("scorer", " ".join(NOTES), HEADER, rows, bars(cells))
    return report.write(options, cells=cells)


if __name__ == "__main__":
    sys.exit(main())
