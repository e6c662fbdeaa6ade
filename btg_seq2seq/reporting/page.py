"""The report of one or several runs: a self-contained page; it loads nothing, runs no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from btg_seq2seq.drawing.colours import COLOURS, ThemeName, hover_rules, style_sheet
from btg_seq2seq.drawing.page import page_head
from btg_seq2seq.drawing.plain_text import one_line, shortened
from btg_seq2seq.drawing.svg import element, escaped
from btg_seq2seq.errors import UserError
from btg_seq2seq.reporting.chart import Chart, Series, Shares
from btg_seq2seq.reporting.progress import examples_section, most_phrases
from btg_seq2seq.reporting.run_files import RunFiles
from btg_seq2seq.reporting.scales import written
from btg_seq2seq.reporting.style import report_style
from btg_seq2seq.reporting.summary import marks_of, run_card
from btg_seq2seq.reporting.tables import (
    LONGEST_VALUE,
    environment_section,
    settings_section,
    shown_text,
)
from btg_seq2seq.reporting.terms import (
    CKY,
    LENGTHS,
    LOSSES,
    PARSERS,
    PARTS,
    PROGRESS,
    SCORES,
    TREES,
    Term,
    other_terms,
    score_names,
)

MOST_RUNS = COLOURS
SAMPLES = {  # of lines, in legends
    "main": '<path d="M0 6H22" class="line main"/><circle cx="11" cy="6" r="2.6" class="dot"/>',
    "faint": '<path d="M0 6H22" class="line faint"/>',
    "dashed": '<path d="M0 6H22" class="line dashed"/>',
}


def report(runs: Sequence[RunFiles], theme: ThemeName = "auto", made: str = "") -> str:
    """Write the page; ``made`` says at its end by what and when."""
    if not runs:
        raise UserError("there is no run to report on")
    if len(runs) > MOST_RUNS:
        raise UserError(
            f"{len(runs)} runs are too many for one report: there are colours for {MOST_RUNS}"
        )
    title = "Training report: " + ", ".join(run.name for run in runs)
    sections = [
        (name, title, note, content)
        for name, title, note, content in _sections(runs, theme)
        if content
    ]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>\n'
        + (f'<p class="note">{note}</p>\n' if note else "")
        + f"{content}</section>\n"
        for name, title, note, content in sections
    )
    cards = "".join(run_card(run, rank) for rank, run in enumerate(runs))
    pictures = style_sheet(theme) + hover_rules(theme, most_phrases(runs))
    head = page_head(
        shortened(one_line(title), LONGEST_VALUE), theme, f"{report_style(theme)}\n{pictures}"
    )
    return (
        f"{head}<body>\n"
        f"<header><h1>Training report</h1>\n<nav>{links}</nav></header>\n"
        f'<main>\n<div class="runs">{cards}</div>\n{body}</main>\n'
        f'<footer class="note">{escaped(made)}</footer>\n</body>\n</html>\n'
    )


def _sections(runs: Sequence[RunFiles], theme: ThemeName) -> Iterator[tuple[str, str, str, str]]:
    """Yield the id, title, remark and content of every section."""
    marks = marks_of(runs[0]) if len(runs) == 1 else []
    said = "; ".join(f"from step {step:,}, {what}" for step, what in marks)
    dotted = f"Dotted: {said}." if said else ""
    losses = _plots(runs, LOSSES, marks)
    yield "loss", "Loss", f"Thin lines: training set. With dots: dev set. {dotted}", losses
    scores = "".join(_score_plots(runs, marks))
    yield "scores", "Scores on the dev set", "In percent.", _grid(scores)
    yield "terms", "Terms of the loss", "", _plots(runs, PARTS, marks)
    yield "trees", "Trees", "", _plots(runs, TREES, marks)
    lengths = "".join(_length_plots(runs, marks))
    note = "Share of phrases by their number of words."
    yield "lengths", "Phrase lengths", note, _grid(lengths)
    note = "Evaluations with the same result are joined. Flat translations are cut by the posterior"
    note += " parser, which sees both sides."
    yield "examples", "Dev sentences while training", note, examples_section(runs, theme)
    yield "progress", "Optimiser", "", _plots(runs, PROGRESS, marks)
    yield "others", "Other terms", "", _plots(runs, other_terms(runs), marks)
    yield "settings", "Settings", "", settings_section(runs)
    yield "environment", "Environment", "", environment_section(runs)


def _plots(runs: Sequence[RunFiles], terms: Sequence[Term], marks: list[tuple[int, str]]) -> str:
    plots = []
    for term in terms:
        is_on_dev = any(term.name in run.dev for run in runs)
        series = []
        for rank, run in enumerate(runs):
            if term.name in run.train:
                style, label = ("faint", "training") if is_on_dev else ("main", "")
                name = _label(runs, run, label)
                series.append(Series(name, run.train[term.name], rank, style))
            if term.name in run.dev:
                series.append(Series(_label(runs, run, "dev"), run.dev[term.name], rank))
        plots.append(_plot(term.title, term.note, series, runs, marks, may_be_logarithmic=True))
    return _grid("".join(plots))


def _score_plots(runs: Sequence[RunFiles], marks: list[tuple[int, str]]) -> Iterator[str]:
    for name in score_names(runs):
        series = []
        variants = [(name, "flat", "main"), (CKY + name, "cky", "dashed")]
        variants += [
            (f"{parser}_{name}", parser, style)
            for parser, style in zip(PARSERS, ("main", "dashed"), strict=True)
        ]
        for rank, run in enumerate(runs):
            for term, label, style in variants:
                if term in run.dev:
                    series.append(Series(_label(runs, run, label), run.dev[term], rank, style))
        yield _plot(SCORES.get(name, name), "", series, runs, marks)


def _length_plots(runs: Sequence[RunFiles], marks: list[tuple[int, str]]) -> Iterator[str]:
    for rank, run in enumerate(runs):
        for curves, where in ((run.train, "training set"), (run.dev, "dev set")):
            bands = [(label, curves[name]) for name, label in LENGTHS if name in curves]
            if len(bands) < len(LENGTHS) or (where == "dev set" and len(runs) > 1):
                continue
            if not set.intersection(*({step for step, _ in curve} for _, curve in bands)):
                continue
            legend = "".join(
                f'<li><span class="swatch band{place}"></span>{label} '
                f"<b>{written(100 * curve[-1][1])}%</b></li>"
                for place, (label, curve) in enumerate(bands)
            )
            chip = f'<span class="chip run{rank}">{shown_text(run.name)}</span>'
            title = chip if len(runs) > 1 else where.capitalize()
            chart = Shares(f"Phrase lengths, {run.name}, {where}", bands, _last(runs), marks)
            yield _figure(title, "", legend, chart.svg())


def _plot(
    title: str,
    note: str,
    series: Sequence[Series],
    runs: Sequence[RunFiles],
    marks: list[tuple[int, str]],
    may_be_logarithmic: bool = False,
) -> str:
    shown = [one for one in series if one.points]
    if not shown:
        return ""
    chart = Chart(title, shown, _last(runs), marks, may_be_logarithmic)
    if chart.scale.is_logarithmic:
        note = f"{note}; logarithmic" if note else "logarithmic"
    legend = "".join(
        f"<li>{_sample(one)}{shown_text(one.label)} <b>{written(one.last)}</b></li>"
        for one in shown
    )
    return _figure(shown_text(title), note, legend, chart.svg())


def _sample(series: Series) -> str:
    return element(
        "svg",
        SAMPLES[series.style],
        width=22,
        height=12,
        aria_hidden="true",
        class_=f"run{series.run}",
    )


def _figure(title: str, note: str, legend: str, svg: str) -> str:
    """Write a chart with its title and legend, which are markup already."""
    return (
        f'<figure class="plot"><figcaption><h3>{title}</h3>'
        + (f'<p class="note">{escaped(note)}</p>' if note else "")
        + f'</figcaption>\n<ul class="legend">{legend}</ul>\n{svg}</figure>\n'
    )


def _grid(plots: str) -> str:
    return f'<div class="charts">{plots}</div>\n' if plots else ""


def _label(runs: Sequence[RunFiles], run: RunFiles, what: str) -> str:
    return " ".join(filter(None, [run.name if len(runs) > 1 else "", what]))


def _last(runs: Sequence[RunFiles]) -> int:
    return max(run.last_step for run in runs)
