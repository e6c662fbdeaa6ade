"""Dev sentences at several checkpoints: what a model made of them while it was trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from btg_seq2seq.drawing.colours import ThemeName
from btg_seq2seq.drawing.drawing import draw
from btg_seq2seq.drawing.plain_text import one_line, shortened
from btg_seq2seq.drawing.svg import escaped
from btg_seq2seq.errors import UserError
from btg_seq2seq.reporting.run_files import Example, RunFiles

MOST_SENTENCES = 4
MOST_STAGES = 4  # of a sentence, a run and a mode
MOST_PHRASES = 24  # in a small picture
LONGEST_TEXT = 600
SMALLEST = 0.6  # share of its size to which a picture shrinks before it scrolls
OPEN = 2  # sentences that are not folded


@dataclass(frozen=True)
class Stage:
    """A translation that stayed the same from one evaluation to another."""

    first: int
    last: int
    example: Example

    @property
    def name(self) -> str:
        """The steps: ``step 80``, or ``steps 80 to 400``."""
        if self.first == self.last:
            return f"step {self.first:,}"
        return f"steps {self.first:,} to {self.last:,}"


def stages_of(examples: Sequence[Example]) -> list[Stage]:
    """Join evaluations with the same result, and choose a few, the first and the last among them.

    ``examples`` are those of one sentence and mode.
    """
    stages: list[Stage] = []
    for example in sorted(examples, key=lambda one: one.step):
        if stages and _looks(stages[-1].example) == _looks(example):
            stages[-1] = Stage(stages[-1].first, example.step, example)
        else:
            stages.append(Stage(example.step, example.step, example))
    if len(stages) <= MOST_STAGES:
        return stages
    ranks = {round(rank * (len(stages) - 1) / (MOST_STAGES - 1)) for rank in range(MOST_STAGES)}
    return [stages[rank] for rank in sorted(ranks)]


def examples_section(runs: Sequence[RunFiles], theme: ThemeName) -> str:
    """Write the sentences, each with its stages; empty if no run has saved any."""
    sources = list(
        dict.fromkeys(example.translation.source for run in runs for example in run.examples)
    )
    parts = []
    for number, source in enumerate(sources[:MOST_SENTENCES], 1):
        cards, reference = [], ""
        for rank, run in enumerate(runs):
            for mode in ("flat", "cky"):
                found = [
                    example
                    for example in run.examples
                    if example.mode == mode and example.translation.source == source
                ]
                stages = stages_of(found)
                reference = found[-1].reference if found else reference
                tag = _tag(rank, run, mode, named=len(runs) > 1)
                cards += [
                    _card(stage, tag, f"example-{number}-{rank}-{mode}-{place}", theme)
                    for place, stage in enumerate(stages)
                ]
        opened = " open" if number <= OPEN else ""
        parts.append(
            f'<details class="example"{opened}><summary dir="auto">{_shown(source)}</summary>\n'
            f'<p class="note">reference: <span dir="auto">{_shown(reference)}</span></p>\n'
            f'<div class="cards">{"".join(cards)}</div></details>\n'
        )
    return "".join(parts)


def most_phrases(runs: Sequence[RunFiles]) -> int:
    """Number of phrases in the largest derivation, for the rules of the style sheet."""
    counts = (
        len(example.translation.derivation.phrases)
        for run in runs
        for example in run.examples
        if example.translation.derivation is not None
    )
    return max(counts, default=0)


def _card(stage: Stage, tag: str, name: str, theme: ThemeName) -> str:
    translation = stage.example.translation
    return (
        f'<article class="card"><p class="stage">{tag}{escaped(stage.name)}</p>\n'
        f'<p dir="auto">{_shown(translation.text) or "∅"}</p>\n'
        f"{_picture(stage.example, name, theme)}</article>\n"
    )


def _picture(example: Example, name: str, theme: ThemeName) -> str:
    derivation = example.translation.derivation
    if derivation is None:
        return '<p class="note">The parsers had not learned yet.</p>\n'
    if len(derivation.phrases) > MOST_PHRASES:
        return f'<p class="note">{len(derivation.phrases)} phrases</p>\n'
    try:
        svg = draw(example.translation, theme=theme).svg_with("", name, smallest=SMALLEST)
    except (UserError, LookupError, ValueError, TypeError):  # a file that somebody changed
        return '<p class="note">The derivation cannot be drawn.</p>\n'
    return f'<div class="picture" tabindex="0">{svg}</div>\n'


def _tag(rank: int, run: RunFiles, mode: str, *, named: bool) -> str:
    chip = f'<span class="chip run{rank}">{_shown(run.name)}</span> ' if named else ""
    return f'{chip}<span class="mode">{mode}</span> '


def _looks(example: Example) -> tuple[str, str]:
    return example.translation.text, example.translation.bracket


def _shown(text: str) -> str:
    return escaped(shortened(one_line(text), LONGEST_TEXT))
