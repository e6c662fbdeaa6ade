"""The page of results: our numbers beside the paper's, made from stored JSON and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from btg_seq2seq.evaluation.metrics import METRICS
from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.tasks.reproduction.comparing import COMPARISONS
from btg_seq2seq.tasks.reproduction.results import read_results
from btg_seq2seq.tasks.systems import BASELINE, PRETRAINED_BASELINE, SYSTEMS
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.text import write_lines

LEVEL = 0.05
MODES = {"flat": "flat (BTG-1)", "cky": "cky (BTG-N)", "rescored": "rescored"}
INTRODUCTION = """# Results

`btg reproduce` trains every system of a task with the same backbone, optimiser and number of steps,
chooses decoding settings on the dev set, and then translates the test set once. Systems that learn
phrase pairs before sentences do so in further steps, which the tables name first, so they are
compared with Fast-Align, too. `make results` writes this page from the files in
[docs/results](results); nothing here is typed by hand.

Scores of several seeds are means, with the lowest and the highest in brackets. p is the value of
sacreBLEU's paired bootstrap test against seq2seq of the same seed, and the largest of all seeds.
The test is close to a one-sided one. Gains with values below 0.05 are bold; "lower" marks scores
below seq2seq. CPU minutes are those of training, all threads together. The paper's numbers are from
[Wang et al. (2022)](https://arxiv.org/abs/2211.07906), whose models are larger and whose conditions
may differ, as the lines above the tables say."""
NOTHING = "No results yet."
OURS = ("taught", "taught-phrases")  # of the systems with a grammar, those in the overview


def page(results: Path) -> str:
    """Write the page for all tasks."""
    parts = [INTRODUCTION]
    missing, elsewhere = [], []
    for task in TASKS.values():
        if task.config is None:
            continue
        runs = list(read_results(results, task))
        if runs:
            parts += _section(task, runs)
        elif task.reported_in:
            elsewhere.append(task)
        else:
            missing.append(task)
    if len(parts) == 1:
        parts.append(NOTHING)
    if elsewhere:
        parts += ["## On other pages", "\n".join(_elsewhere(task) for task in elsewhere)]
    if missing:
        parts += ["## Not run yet", "\n".join(_missing(task) for task in missing)]
    return "\n\n".join(parts) + "\n"


def overview(results: Path) -> str:
    """Compare the taught systems with seq2seq, one line per system and test set."""
    header = ["task", "system", "measure", "seeds", SYSTEMS[BASELINE].title, *MODES.values()]
    rows = []
    for task, name in product(TASKS.values(), OURS):
        runs = list(read_results(results, task))
        of_seeds = [
            {run["seed"]: run for run in runs if run["system"] == system}
            for system in (BASELINE, name)
        ]
        both = sorted(of_seeds[0].keys() & of_seeds[1].keys())
        plain, ours = ([found[seed] for seed in both] for found in of_seeds)
        if not both:
            continue
        for test in ("test", *task.judges):
            measure = task.metric if test == "test" else _judgements(plain[0], "flat", test)[0]
            title = METRICS[measure].title if measure in METRICS else measure.replace("_", " ")
            rows.append(
                [
                    task.name if test == "test" else f"{task.name}, {test}",
                    SYSTEMS[name].title,
                    title,
                    str(len(both)),
                    _mean(plain, "flat", test, measure),
                    *(_mean(ours, mode, test, measure) for mode in MODES),
                ]
            )
    return _table(header, rows) if rows else NOTHING


def _mean(runs: Sequence[dict[str, Any]], mode: str, test: str, measure: str) -> str:
    """Show the mean of all seeds, bold if all of them are better than the baseline."""
    own = [run for run in runs if mode in run["modes"]]
    if not own:
        return ""
    text = f"{mean(_score(run, mode, test, measure) for run in own):.2f}"
    return f"**{text}**" if _p(own, mode, test, measure).startswith("**") else text


def write_page(results: Path, path: Path) -> None:
    """Write the page to a file."""
    write_lines(path, page(results).rstrip("\n").split("\n"))


def _missing(task: Task) -> str:
    data = " --data DIRECTORY" if task.files else ""
    return f"- {task.description}: `btg reproduce {task.name}{data}`"


def _elsewhere(task: Task) -> str:
    page = f"[docs/{task.reported_in}]({task.reported_in})"
    return (
        f"- {task.description}: {page} has results, from a command of its own. "
        f"`btg reproduce {task.name}` has not been run."
    )


def _section(task: Task, runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Write the heading, conditions and tables of a task."""
    yield f"## {task.name}"
    yield f"{task.description}. {_conditions(task, runs)}"
    metric = task.metric
    others = [name for name in ("bleu", "chrf") if name != metric]
    titles = [METRICS[name].title for name in (metric, *others)]
    is_pretrained = any(COMPARISONS[PRETRAINED_BASELINE] in run for run in runs)
    second = ["p, Fast-Align"] * is_pretrained
    header = ["system", "mode", "seeds", f"dev {titles[0]}", *titles, "p", *second, "paper"]
    header += ["steps", "parameters", "CPU min"]
    rows = []
    for name, mode, own in _lines(runs):
        dev = [one["modes"][mode]["dev"][metric] for one in own]
        tested = [[_score(one, mode, "test", each) for one in own] for each in (metric, *others)]
        rows.append(
            [
                *_names(name, mode, own),
                _range(dev),
                *map(_range, tested),
                _p(own, mode, "test", metric),
                *(_p(own, mode, "test", metric, PRETRAINED_BASELINE) for _ in second),
                _paper(task, name, mode),
                *_cost(own),
            ]
        )
    yield _table(header, rows)
    for extra in task.judges:
        yield from _judged(extra, runs)


def _conditions(task: Task, runs: Sequence[dict[str, Any]]) -> str:
    """Describe sizes, signatures and what differs from the paper."""
    sizes = ", ".join(f"{count:,} {name}" for name, count in runs[0]["sentences"].items())
    signatures = sorted(
        {
            f"{METRICS[name].title} `{signature}`"
            for run in runs
            for mode in run["modes"].values()
            for name, signature in mode["sets"]["test"]["signatures"].items()
            if name in METRICS
        }
    )
    told = [f"Sentence pairs: {sizes}."]
    told += [f"Signatures: {', '.join(signatures)}."] if signatures else []
    told += [f"The paper's numbers: {task.paper_table}."] if task.paper_table else []
    told += _timed_on(runs)
    revisions = sorted({run.get("revision") or "not recorded" for run in runs})
    told.append(f"Revisions of the code: {', '.join(revisions)}.")
    if any(run["unchecked"] for run in runs):
        told.append("**Some runs accepted files that may be other versions than the task's.**")
    return " ".join(told)


def _timed_on(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Name the processors of training; older results do not have theirs."""
    known = sorted({run["processor"] for run in runs if "processor" in run})
    if known:
        some = "" if all("processor" in run for run in runs) else ", where it was recorded"
        yield f"CPU minutes on {' and '.join(known)}{some}."
    if any(run.get("preloaded") for run in runs):
        yield "Some runs had libraries preloaded, which can change CPU times."


def _judged(name: str, runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Write the table of a further test set that is judged line by line."""
    columns = _judgements(runs[0], next(iter(runs[0]["modes"])), name)
    header = ["system", "mode", "seeds", *(each.replace("_", " ") for each in columns), "p", "BLEU"]
    rows = [
        [
            *_names(system, mode, own),
            *(_range([_score(one, mode, name, each) for one in own]) for each in columns),
            _p(own, mode, name, columns[0]),
            _range([_score(one, mode, name, "bleu") for one in own]),
        ]
        for system, mode, own in _lines(runs)
    ]
    yield f"`{name}`:"
    yield _table(header, rows)


def _lines(runs: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Group runs by system and mode, in the order of the registry."""
    for name in SYSTEMS:
        of_system = sorted((run for run in runs if run["system"] == name), key=lambda r: r["seed"])
        for mode in MODES:
            own = [run for run in of_system if mode in run["modes"]]
            if own:
                yield name, mode, own


def _names(name: str, mode: str, runs: Sequence[dict[str, Any]]) -> list[str]:
    shown = MODES[mode] if SYSTEMS[name].has_grammar else mode
    return [SYSTEMS[name].title, shown, ", ".join(str(run["seed"]) for run in runs)]


def _scores(run: dict[str, Any], mode: str, test: str) -> dict[str, float]:
    scores: dict[str, float] = run["modes"][mode]["sets"][test]["scores"]
    return scores


def _judgements(run: dict[str, Any], mode: str, test: str) -> list[str]:
    """Names of the scores that are of this task alone."""
    return [each for each in _scores(run, mode, test) if each not in METRICS]


def _score(run: dict[str, Any], mode: str, test: str, metric: str) -> float:
    return _scores(run, mode, test)[metric]


def _range(values: Sequence[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _p(
    runs: Sequence[dict[str, Any]], mode: str, test: str, metric: str, baseline: str = BASELINE
) -> str:
    """Show the largest p-value of all seeds, and how many seeds are below the baseline."""
    found = (run.get(COMPARISONS[baseline], {}) for run in runs)
    compared = [comparisons[mode] for comparisons in found if mode in comparisons]
    compared = [one for one in compared if metric in one["p"].get(test, {})]
    if not compared:
        return ""
    p = max(one["p"][test][metric] for one in compared)
    lower = sum(one["gain"][test][metric] < 0 for one in compared)
    text = f"{p:.3f}" + f" of {len(compared)} seeds" * (len(compared) < len(runs))
    if lower:
        return f"{text}, {'lower' if lower == len(compared) else f'{lower} lower'}"
    return f"**{text}**" if p < LEVEL else text


def _paper(task: Task, system: str, mode: str) -> str:
    number = task.paper.get(SYSTEMS[system].paper.get(mode, ""))
    return "" if number is None else f"{number:.1f}"


def _cost(runs: Sequence[dict[str, Any]]) -> list[str]:
    steps = {_steps(run) for run in runs}
    parameters = {f"{run['parameters']['model'] / 1e6:.1f} M" for run in runs}
    minutes = [
        sum(run["cpu_seconds"].get(stage, 0) for stage in ("pretraining", "training")) / 60
        for run in runs
    ]
    return [" or ".join(sorted(steps)), " or ".join(sorted(parameters)), f"{mean(minutes):.0f}"]


def _steps(run: dict[str, Any]) -> str:
    before = run.get("pretraining_steps", 0)
    return f"{before:,} + {run['steps']:,}" if before else f"{run['steps']:,}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = [":--", ":--", ":--", *["--:"] * (len(header) - 3)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, marks, *rows))
