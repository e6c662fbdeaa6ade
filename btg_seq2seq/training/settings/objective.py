"""What the objective can be told; the fields are the command line's and the YAML file's."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Literal

from btg_seq2seq.checks import at_least, from_0_to_1
from btg_seq2seq.errors import UserError

Schedule = float | dict[int, float]
"""A number, or numbers by step with straight lines between them: ``{0: 1.0, 500: 0.5}``."""


def scheduled(schedule: Schedule, step: int) -> float:
    """The value of a schedule at a step; before its first and behind its last, that one's."""
    if not isinstance(schedule, dict):
        return schedule
    points = sorted(schedule.items())
    for (start, first), (stop, last) in pairwise(points):
        if start <= step < stop:
            return first + (last - first) * (step - start) / (stop - start)
    return points[0][1] if step < points[0][0] else points[-1][1]


@dataclass
class ObjectiveSettings:
    """How a loss is made of a batch."""

    estimator: Literal["robust", "paper", "gold"] = "robust"
    """``robust``: importance-weighted derivations that must explain both sides; ``paper``:
    score-function gradients; ``gold``: given derivations."""

    flat_weight: Schedule = 0.5
    """Weight of whole sentences, n = 1; cuts into phrases, n > 1, have the rest."""

    segment_rate: float = 0.5
    """Rate of the geometric distribution from which the number of phrases n > 1 is drawn."""

    baseline: Literal["leave-one-out", "self-critical"] = "leave-one-out"
    """What rewards are compared with (paper): the other samples', or, as published, the most
    probable derivation's. With the latter, parsers may settle on wrong trees for good."""

    samples: int = 3
    """Derivations drawn a sentence. They are compared with each other: robust and leave-one-out
    need two or more."""

    reward_scale: Schedule = 1.0
    """Factor on the rewards' part of the gradient (paper); rewards are never clipped."""

    kl_weight: Schedule = 1.0
    """Weight of the divergence between posterior and prior trees (paper)."""

    entropy_weight: Schedule = 1.0
    """Weight of the entropy of target segmentations (paper)."""

    reverse_weight: Schedule = 1.0
    """Weight of the source phrases' likelihood given the target phrases (robust)."""

    turned: Schedule = 0.3
    """Of every other tree that is drawn, with boundaries moved, the share of nodes that are turned
    around too (robust). At first it keeps the parsers from settling on one order of phrases; later
    it takes draws from the search for boundaries."""

    summed_length: int = 12
    """Up to so many target tokens, trees are scored by the sum over their target segmentations
    (robust); the sum of a longer sentence is estimated from one segmentation, which costs far less
    and may take more steps to find trees."""

    boundary_threshold: float = 0.05
    """Target phrases meet only where their probability to do so is at least this much, by the
    leaf parser and with its boundaries moved (robust, and where derivations are collected to
    recombine sentences); 0 to sum over all segmentations."""

    reversed_gradient: bool | None = None
    """Whether the posterior parser also trains the model that it reads a pair with, target in the
    encoder and source in the decoder; nothing: not with ``robust``, where the reverse likelihood
    does that, and two thirds of the pass are saved."""

    uniform_steps: int | None = None
    """For so many steps at first, phrases are learned from derivations drawn by parsers whose
    scores are all equal, and the parsers themselves wait: what they would learn from phrases that
    mean nothing yet is hard to unlearn. Nothing: 300 for random weights without flat_steps; a model
    that can translate already, pretrained or after these, does without."""

    flat_steps: int = 0
    """For so many steps before that, only whole sentences are learned: a plain seq2seq model."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, dict) and (not value or min(value) < 0):
                raise UserError(
                    f"objective.{field.name}: a schedule needs at least one step, from 0 on"
                )
        for name in ("flat_weight", "turned"):
            shares = getattr(self, name)
            for share in shares.values() if isinstance(shares, dict) else [shares]:
                from_0_to_1(f"objective.{name}", share)
        from_0_to_1("objective.segment_rate", self.segment_rate, ends=False)
        from_0_to_1("objective.boundary_threshold", self.boundary_threshold)
        for name in ("summed_length", "uniform_steps", "flat_steps"):
            at_least(0, f"objective.{name}", getattr(self, name))
        leaves_one_out = self.estimator == "paper" and self.baseline == "leave-one-out"
        compares = self.estimator == "robust" or leaves_one_out
        if self.samples < 1 + compares:
            raise UserError(
                "objective.samples must be 1 or more, 2 for robust and for leave-one-out, not "
                f"{self.samples}"
            )

    @property
    def untaught_steps(self) -> int:
        """Steps at first in which the parsers learn nothing."""
        # Given derivations are learned from the start.
        return self.flat_steps + (self.uniform_steps or 0 if self.estimator != "gold" else 0)

    @property
    def changes(self) -> bool:
        """Whether one step of training differs from another."""
        schedules = (getattr(self, field.name) for field in fields(self))
        return self.untaught_steps > 0 or any(isinstance(each, dict) for each in schedules)

    @property
    def is_flat(self) -> bool:
        """Whether whole sentences are all that is ever learned."""
        weights = self.flat_weight
        return set(weights.values() if isinstance(weights, dict) else [weights]) == {1}


@dataclass(frozen=True)
class Step:
    """Settings at one step of training, schedules resolved."""

    settings: ObjectiveSettings
    is_uniform: bool
    flat_weight: float
    reward_scale: float
    kl_weight: float
    entropy_weight: float
    reverse_weight: float
    turned: float

    @classmethod
    def at(cls, settings: ObjectiveSettings, step: int) -> Step:
        """The settings at a step, counted from 0."""
        return cls(
            settings,
            is_uniform=step < settings.untaught_steps,
            flat_weight=1.0
            if step < settings.flat_steps
            else scheduled(settings.flat_weight, step),
            reward_scale=scheduled(settings.reward_scale, step),
            kl_weight=scheduled(settings.kl_weight, step),
            entropy_weight=scheduled(settings.entropy_weight, step),
            reverse_weight=scheduled(settings.reverse_weight, step),
            turned=scheduled(settings.turned, step),
        )
