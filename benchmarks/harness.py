"""The common parts of all benchmarks: interleaved timing, peak memory, tables, bars, provenance.

A run measures all candidates side by side and keeps minima, so that a busy moment of the machine
hits all of them and a ratio means something. Tables go to the terminal, to JSON, and between
markers of a documentation file; no number is typed by hand. Knows nothing of what it measures.
"""

import argparse
import ctypes
import gc
import importlib.metadata
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from btg_seq2seq.training.files.environment import processor, revision

MEGABYTE = 1_000_000
NOT_MEASURED = "\N{EN DASH}"


class Timing(NamedTuple):
    """A call's duration: the fastest one's, of several."""

    seconds: float
    processor_seconds: float
    calls: int = 1

    @property
    def waited(self) -> bool:
        """True if other processes held the processor meanwhile; meaningless with threads."""
        return self.seconds > 1.1 * self.processor_seconds


def timed(call: Callable[[], Any]) -> tuple[Any, Timing]:
    """The result of one call and how long it took, garbage collector off as in timeit."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        begin, processor_begin = time.perf_counter(), time.process_time()
        result = call()
        seconds = time.perf_counter() - begin
        return result, Timing(seconds, time.process_time() - processor_begin)
    finally:
        if collecting:
            gc.enable()


def fastest(timings: Sequence[Timing]) -> Timing:
    """The minimum, and how many calls it is the minimum of."""
    return min(timings)._replace(calls=sum(timing.calls for timing in timings))


def interleaved_minima(
    calls: Mapping[str, Callable[[], Any]],
    seconds: float = 2.0,
    least: int = 3,
    most: int = 30,
) -> dict[str, Timing]:
    """The fastest call of each candidate, called in turn.

    Each candidate is called at least `least` times, then on while it has had less than its share of
    `seconds`, so that a slow candidate does not cost a fast one its repetitions. Callers warm up.
    """
    gc.collect()
    timings: dict[str, list[Timing]] = {name: [] for name in calls}
    share = seconds / max(len(calls), 1)
    for _ in range(most):
        due = [
            name
            for name, taken in timings.items()
            if len(taken) < least or sum(timing.seconds for timing in taken) < share
        ]
        if not due:
            break
        for name in due:
            timings[name].append(timed(calls[name])[1])
    return {name: fastest(taken) for name, taken in timings.items()}


def _status_bytes(field: str) -> int:
    """A size from /proc/self/status."""
    status = Path("/proc/self/status").read_text()
    match = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    if match is None:
        raise OSError(f"/proc/self/status has no {field}")
    return int(match.group(1)) * 1024


def _maximum_resident_bytes() -> int:
    """The process's high-water mark since it started; kilobytes except on macOS."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _return_free_memory() -> None:
    """Hand the allocator's free pages back, so that the call cannot reuse them uncounted."""
    gc.collect()
    if sys.platform == "linux":
        malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
        if malloc_trim is not None:
            malloc_trim(0)


def peak_memory(call: Callable[[], Any]) -> tuple[Any, int, str]:
    """Result, bytes by which the resident set rose above its level before the call, and method.

    Where Linux lets a process reset its own high-water mark the level is exact. Elsewhere the mark
    before the call stands in for it, and a call that stays below an earlier peak counts as 0:
    measure in a fresh process that has done nothing larger.
    """
    _return_free_memory()
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = _status_bytes("VmRSS")
        result = call()
        return result, _status_bytes("VmHWM") - before, "VmHWM after clear_refs"
    except OSError:
        before = _maximum_resident_bytes()
        result = call()
        return result, _maximum_resident_bytes() - before, "ru_maxrss"


def in_fresh_process(module: str, *arguments: str) -> dict[str, Any]:
    """Run `python -m module arguments` and read the JSON object it prints last."""
    finished = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    if finished.returncode != 0:
        raise RuntimeError(f"{module} {' '.join(arguments)} failed:\n{finished.stderr}")
    found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return found


@dataclass(frozen=True)
class Bar:
    """A figure that a run must reach."""

    description: str
    measured: float
    bound: float
    unit: str
    at_least: bool = True

    @property
    def passed(self) -> bool:
        """True if the figure is on the right side of the bound; NaN never is."""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def __str__(self) -> str:
        """Verdict first, then what was measured and what was asked."""
        sign = ">=" if self.at_least else "<="
        verdict = "pass" if self.passed else "FAIL"
        # Four digits: 99.98 % is not 100 %.
        measured = f"{self.measured:.0f}" if self.measured >= 100 else f"{self.measured:.4g}"
        bound = f"{sign} {self.bound:g}{self.unit}"
        return f"{verdict}  {self.description}: {measured}{self.unit} (bar: {bound})"

    def to_json(self) -> dict[str, Any]:
        """Every part of the bar, and the verdict."""
        return {**self.__dict__, "passed": self.passed}


def milliseconds(seconds: float | None) -> str:
    """Three significant digits, or the mark for a cell that was not measured."""
    return NOT_MEASURED if seconds is None else significant(seconds * 1e3)


def ratio(numerator: float | None, denominator: float | None) -> str:
    """The ratio of two times, or the mark for a cell that was not measured."""
    if numerator is None or denominator is None:
        return NOT_MEASURED
    return significant(numerator / denominator) + "x"


def significant(value: float, digits: int = 3) -> str:
    """Rounded to significant digits, without an exponent."""
    decimals = digits - len(str(int(abs(value)))) if abs(value) >= 1 else digits - 1
    return f"{value:.{max(decimals, 0)}f}"


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned with spaces: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same table for a documentation file."""
    rule = [":--", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def check_section(path: Path, name: str) -> str:
    """The text of a file that has the markers of benchmark `name`; ValueError if it has not."""
    text = path.read_text(encoding="utf-8")
    begin, end = text.find(f"<!-- benchmark:{name} -->"), text.find(f"<!-- /benchmark:{name} -->")
    if begin < 0 or end < begin:
        raise ValueError(f"{path} has no <!-- benchmark:{name} --> … <!-- /benchmark:{name} -->")
    return text


def replace_section(path: Path, name: str, body: str) -> None:
    """Put `body` between the markers of benchmark `name`; the rest of the file stays."""
    text = check_section(path, name)
    before, _, rest = text.partition(f"<!-- benchmark:{name} -->")
    _, _, after = rest.partition(f"<!-- /benchmark:{name} -->")
    section = f"<!-- benchmark:{name} -->\n{body.strip()}\n<!-- /benchmark:{name} -->"
    path.write_text(before + section + after, encoding="utf-8")


def provenance() -> dict[str, Any]:
    """Machine, versions and revision: what another person needs to reproduce a number."""
    versions = {"python": platform.python_version()}
    for package in ("torch", "numpy", "numba", "transformers", "btg-seq2seq"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "torch_threads": torch.get_num_threads(),
            "torch_capability": torch.backends.cpu.get_cpu_capability(),
            "system": platform.platform(),
        },
        "versions": versions,
        "revision": revision(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def signature(facts: Mapping[str, Any]) -> str:
    """One line of provenance for people."""
    machine = facts["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    threads = machine["torch_threads"]
    return (
        f"{machine['processor']} ({machine['torch_capability']}), {machine['cores']} cores, "
        f"{threads} torch thread{'s' if threads != 1 else ''}; {versions}; "
        f"revision {facts['revision'] or 'unknown'}"
    )


def shown(given: Sequence[str]) -> list[str]:
    """Arguments of a command line as a table shows them: without directories and remarks."""
    kept, rest = [], iter(given)
    for argument in rest:
        if argument in ("--output", "--directory", "--about"):
            next(rest, None)
        else:
            kept.append(Path(argument).name)
    return kept


def arguments(module: str, description: str | None) -> argparse.ArgumentParser:
    """A command line with the options of every benchmark."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=description)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=int, help="torch threads; default: as they are")
    parser.add_argument("--output", type=Path, help="write every number as JSON")
    parser.add_argument("--markdown", type=Path, help="write the table between this file's markers")
    return parser


def begin(options: argparse.Namespace, section: str) -> None:
    """Do as the command line says, and refuse before the work what would fail behind it."""
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.markdown:
        check_section(options.markdown, section)


@dataclass(frozen=True)
class Report:
    """The results of a benchmark; ``section`` is the name of its module and markers."""

    section: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    bars: Sequence[Bar]

    def write(self, options: argparse.Namespace, **numbers: Any) -> int:
        """Print it, write it where the command line says; 1 if a bar fails.

        ``numbers`` are for the file of JSON.
        """
        facts = provenance()
        parts = [signature(facts), self.note, "", plain_table(self.header, self.rows), ""]
        print(*parts, *self.bars, sep="\n")
        if options.output:
            verdicts = [bar.to_json() for bar in self.bars]
            write_json(options.output, {**facts, **numbers, "bars": verdicts})
        if options.markdown:
            lines = "\n".join(f"- {bar}" for bar in self.bars)
            command = " ".join(["python -m benchmarks." + self.section, *shown(sys.argv[1:])])
            source = f"Written by `{command}` on {signature(facts)}."
            body = (self.note, markdown_table(self.header, self.rows), lines, source)
            replace_section(options.markdown, self.section, "\n\n".join(body))
        return 0 if all(bar.passed for bar in self.bars) else 1


def write_json(path: Path, report: Mapping[str, Any]) -> None:
    """The whole report, readable."""
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
