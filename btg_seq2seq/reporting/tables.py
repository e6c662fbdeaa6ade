"""Tables of a report: figures, settings and environments of runs, side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from btg_seq2seq.drawing.plain_text import one_line, shortened
from btg_seq2seq.drawing.svg import escaped
from btg_seq2seq.reporting.run_files import RunFiles
from btg_seq2seq.training.settings.config import TrainConfig

MOST_ROWS = 400
LONGEST_VALUE = 300
ABSENT = "\u2013"
PLACES = ("output", "threads", "data.", "recombination.exclude")  # expected to differ
MISSING = object()


def shown_text(text: str, most: int = LONGEST_VALUE) -> str:
    """Return a text of a file for the page."""
    return escaped(shortened(one_line(text), most))


def value_text(value: Any) -> str:
    """Write a setting as in a YAML file."""
    if value is MISSING:
        return ABSENT
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "?"


def table(
    heads: Sequence[str],
    rows: Iterable[tuple[str, Sequence[str]]],
    marked: Callable[[str], bool] = lambda name: False,
) -> str:
    """Write a table; the first cell of a row is its name, and the others are texts."""
    head = "".join(f'<th scope="col">{shown_text(name)}</th>' for name in heads)
    lines = []
    for name, values in list(rows)[:MOST_ROWS]:
        cells = "".join(f'<td dir="auto">{shown_text(value)}</td>' for value in values)
        kind = ' class="marked"' if marked(name) else ""
        lines.append(f'<tr{kind}><th scope="row">{shown_text(name, 80)}</th>{cells}</tr>\n')
    return (
        f'<div class="table" tabindex="0"><table><thead><tr><td></td>{head}</tr></thead>\n'
        f"<tbody>{''.join(lines)}</tbody></table></div>\n"
    )


def settings_section(runs: Sequence[RunFiles]) -> str:
    """Settings that differ between runs, or from the defaults; then all of them."""
    names = list(dict.fromkeys(name for run in runs for name in run.settings))
    if not names:
        return "<p>The settings are not known.</p>\n"
    rows = [(name, [value_text(run.settings.get(name, MISSING)) for run in runs]) for name in names]
    if len(runs) == 1:
        defaults = default_settings()
        chosen = {
            name
            for name in names
            if value_text(runs[0].settings[name]) != value_text(defaults.get(name, MISSING))
        }
        summary = "Settings other than the defaults"
    else:
        chosen = {name for name, values in rows if len(set(values)) > 1}
        summary = "Settings that differ" if chosen else "No setting differs"
    heads = [run.name for run in runs] if len(runs) > 1 else ["value"]
    first = [row for row in rows if row[0] in chosen]
    # Where files are says less than everything else.
    first.sort(key=lambda row: row[0].startswith(PLACES))
    return (
        f"<h3>{summary}</h3>\n"
        + (table(heads, first) if first else "")
        + f"<details><summary>All {len(rows)} settings</summary>\n"
        + table(heads, rows, chosen.__contains__)
        + "</details>\n"
    )


def default_settings() -> dict[str, Any]:
    """Settings of a run in which none is given."""
    flat: dict[str, Any] = {}
    for section, content in asdict(TrainConfig("")).items():
        if isinstance(content, dict):
            flat |= {f"{section}.{name}": value for name, value in content.items()}
        else:
            flat[section] = content
    return flat


def environment_section(runs: Sequence[RunFiles]) -> str:
    """Machine and versions of the last start, texts, and the steps at which a run went on."""
    lasts = [run.starts[-1] if run.starts else {} for run in runs]
    names = list(dict.fromkeys(name for last in lasts for name in last if name != "step"))
    rows = [(name, [value_text(last.get(name, MISSING)) for last in lasts]) for name in names]
    texts = list(dict.fromkeys(name for run in runs for name in run.data))
    rows += [(f"{name} text", [run.data.get(name, ABSENT) for run in runs]) for name in texts]
    resumed = [
        ", ".join(str(start.get("step")) for start in run.starts if start.get("step")) or ABSENT
        for run in runs
    ]
    if any(steps != ABSENT for steps in resumed):
        rows.append(("resumed after step", resumed))
    if not rows:
        return "<p>The environment is not known.</p>\n"
    differing = {name for name, values in rows if len(set(values)) > 1 and name != "started"}
    heads = [run.name for run in runs] if len(runs) > 1 else ["value"]
    return table(heads, rows, differing.__contains__)
