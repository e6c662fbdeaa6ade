"""A run in a few figures: how far it went, its scores, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from btg_seq2seq.drawing.svg import escaped
from btg_seq2seq.evaluation import metrics  # noqa: F401  makes the names of metrics known
from btg_seq2seq.reporting.run_files import RunFiles
from btg_seq2seq.reporting.scales import written
from btg_seq2seq.reporting.tables import shown_text
from btg_seq2seq.reporting.terms import CKY, SCORES
from btg_seq2seq.training.settings.measures import greater_is_better

MOST_FIGURES = 6


def run_card(run: RunFiles, rank: int) -> str:
    """Write the figures of a run."""
    figures = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>"
        for name, value in _figures(run)
    )
    problems = "".join(f'<p class="problem">{shown_text(text)}</p>' for text in run.problems)
    return (
        f'<section class="run run{rank}"><h2>{shown_text(run.name, 80)}</h2>\n'
        f'<p class="note">{escaped(status(run))}</p>\n'
        f'<dl class="figures">{figures}</dl>{problems}</section>\n'
    )


def status(run: RunFiles) -> str:
    """Describe how far a run has gone, and which evaluation was best."""
    planned = run.planned_steps
    of = f" of {planned:,}" if planned else ""
    if run.last_step == 0:
        return "nothing was logged yet"
    state = "finished" if run.is_finished else "not finished"
    said = f"{state}, step {run.last_step:,}{of}"
    best = best_evaluation(run)
    if best is not None:
        name, step, value = best
        said += f"; best {name} {written(value)} at step {step:,}"
    return said


def best_evaluation(run: RunFiles) -> tuple[str, int, float] | None:
    """Return name, step and value of the measure that chooses checkpoints, where it was best.

    Of equals it is the last, as in training; evaluations before the parsers learn do not count.
    """
    name = run.settings.get("optimisation.metric", "loss")
    curve = run.dev.get(name, []) if isinstance(name, str) else []
    waiting = parser_start(run)
    counted = [(step, value) for step, value in curve if step > waiting] or curve
    if not counted:
        return None
    sign = 1 if greater_is_better(name) else -1
    step, value = max(counted, key=lambda point: (sign * point[1], point[0]))
    return name, step, value


def marks_of(run: RunFiles) -> list[tuple[int, str]]:
    """Return the steps at which training changes."""
    found: dict[int, str] = {}
    flat = _steps(run, "objective.flat_steps")
    if flat:
        found[flat] = "phrases are learned"
    start = parser_start(run)
    if start and start < run.last_step and _learns_trees(run):
        found[start] = "the parsers learn"
    recombined = _steps(run, "recombination.start")
    if recombined:
        found[recombined] = "sentences are recombined"
    return sorted((step, name) for step, name in found.items() if 0 < step < run.last_step)


def parser_start(run: RunFiles) -> int:
    """Return the step after which the parsers learn."""
    if not _learns_trees(run):
        return 0
    return _steps(run, "objective.flat_steps") + _steps(run, "objective.uniform_steps")


def _learns_trees(run: RunFiles) -> bool:
    weight = run.settings.get("objective.flat_weight")
    return weight != 1 and run.settings.get("model.max_segments") != 1


def _steps(run: RunFiles, name: str) -> int:
    value = run.settings.get(name)
    return value if type(value) is int and value > 0 else 0


def _figures(run: RunFiles) -> Iterator[tuple[str, str]]:
    """Yield the last values of the dev set, or of the training set without one."""
    count = 0
    curves = run.dev or run.train
    names = [("loss", "dev loss" if run.dev else "training loss")]
    for name in ("bleu", "exact_match", "chrf"):
        names += [(name, f"{SCORES[name]}, flat"), (CKY + name, f"{SCORES[name]}, cky")]
    names[5:5] = [("posterior_trees", "right trees"), ("prior_trees", "right trees, prior")]
    for name, title in names:
        if curves.get(name) and count < MOST_FIGURES:
            count += 1
            yield title, written(curves[name][-1][1])
