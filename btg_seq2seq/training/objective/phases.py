"""Phases of training, and the settings at one step: resolved here and nowhere else.

A run goes from whole sentences (``flat``) over phrases of uniformly drawn trees (``uniform``) or of
a teacher's trees (``taught``) to trees of the model's own parsers (``parsed``). Nothing here needs
torch.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

_GOLDEN_RATIO = 0.6180339887498949

if TYPE_CHECKING:
    from btg_seq2seq.training.settings.objective import ObjectiveSettings, Schedule


class Phase(Enum):
    """Part of the model that learns at a step."""

    FLAT = "flat"  # a plain seq2seq model: whole sentences only
    UNIFORM = "uniform"  # phrases of uniformly drawn derivations; the parsers wait
    TAUGHT = "taught"  # everything, from the derivations of a teacher
    PARSED = "parsed"  # everything, by the estimator


def phase_at(settings: ObjectiveSettings, step: int, max_segments: int | None = None) -> Phase:
    """Return the phase of a step, counted from 0.

    A model with ``max_segments`` of 1 is always trained flat.
    """
    if max_segments == 1 or _flat_weight(settings, step) == 1:
        return Phase.FLAT
    if step < first_parser_step(settings):
        return Phase.UNIFORM
    # Steps spread evenly, so that every stretch of the fade-out has its share of taught ones.
    place = step * _GOLDEN_RATIO % 1
    return Phase.TAUGHT if place < teaching_share(settings, step) else Phase.PARSED


def teaching_share(settings: ObjectiveSettings, step: int) -> float:
    """Return the share of steps around this one that are taught: 1, then less and less, then 0."""
    if not settings.has_teacher:
        return 0.0
    if settings.taught_steps is None:
        return 1.0
    left = first_parser_step(settings) + settings.taught_steps - step
    if left > 0:
        return 1.0
    return max(0.0, 1 + left / settings.fading_steps) if settings.fading_steps else 0.0


def first_parser_step(settings: ObjectiveSettings) -> int:
    """Return the first step at which the parsers may learn: the flat and uniform ones are over."""
    # Given derivations make sense from the start.
    uniform = 0 if settings.description.needs_gold else settings.uniform_steps or 0
    return settings.flat_steps + uniform


def learns_trees(settings: ObjectiveSettings, max_segments: int) -> bool:
    """Return whether the schedule of a run has any weight for trees, however late."""
    weights = settings.flat_weight
    values = weights.values() if isinstance(weights, dict) else [weights]
    return max_segments > 1 and set(values) != {1}


def parsers_have_learned(settings: ObjectiveSettings, steps: int, max_segments: int) -> bool:
    """Return whether the parsers have learned anything after this many steps."""
    return learns_trees(settings, max_segments) and steps > first_parser_step(settings)


def learns_reverse(settings: ObjectiveSettings) -> bool:
    """Return whether source phrases are learned given target phrases, at some step."""
    weights = settings.reverse_weight
    values = weights.values() if isinstance(weights, dict) else [weights]
    return settings.description.learns_both_directions and any(value > 0 for value in values)


def changes_with_steps(settings: ObjectiveSettings) -> bool:
    """Return whether one step of training differs from another."""
    schedules = (getattr(settings, field.name) for field in fields(settings))
    waits_or_is_taught = first_parser_step(settings) > 0 or settings.has_teacher
    return waits_or_is_taught or any(isinstance(each, dict) for each in schedules)


def scheduled(schedule: Schedule, step: int) -> float:
    """Return the value of a schedule at a step; it is constant before and after its points."""
    if not isinstance(schedule, dict):
        return schedule
    points = sorted(schedule.items())
    for (start, first), (stop, last) in pairwise(points):
        if start <= step < stop:
            return first + (last - first) * (step - start) / (stop - start)
    return points[0][1] if step < points[0][0] else points[-1][1]


def _flat_weight(settings: ObjectiveSettings, step: int) -> float:
    return 1.0 if step < settings.flat_steps else scheduled(settings.flat_weight, step)


@dataclass(frozen=True)
class Step:
    """Phase and settings of one step of training, schedules resolved."""

    settings: ObjectiveSettings
    phase: Phase
    flat_weight: float
    reward_scale: float
    kl_weight: float
    entropy_weight: float
    reverse_weight: float
    turned: float

    @classmethod
    def at(cls, settings: ObjectiveSettings, step: int, max_segments: int | None = None) -> Step:
        """Resolve the settings at a step, counted from 0."""
        return cls(
            settings,
            phase=phase_at(settings, step, max_segments),
            flat_weight=_flat_weight(settings, step),
            reward_scale=scheduled(settings.reward_scale, step),
            kl_weight=scheduled(settings.kl_weight, step),
            entropy_weight=scheduled(settings.entropy_weight, step),
            reverse_weight=scheduled(settings.reverse_weight, step),
            turned=scheduled(settings.turned, step),
        )
