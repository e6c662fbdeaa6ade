"""Settings of the objective; the fields are those of the command line and the YAML file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from btg_seq2seq.checks import at_least, from_0_to_1
from btg_seq2seq.errors import UserError
from btg_seq2seq.training.objective.estimator import (
    EstimatorDescription,
    describe_estimator,
    estimator_names,
)

Schedule = float | dict[int, float]
"""A number, or numbers by step with straight lines between them: ``{0: 1.0, 500: 0.5}``."""


@dataclass
class ObjectiveSettings:
    """Computation of the loss of a batch."""

    estimator: str = "robust"
    """Estimator of the loss of sentences cut into phrases."""

    flat_weight: Schedule = 0.5
    """Weight of whole sentences, n = 1. Sentences cut into phrases, n > 1, have the rest."""

    segment_rate: float = 0.5
    """Rate of the geometric distribution from which the number of phrases n > 1 is drawn."""

    baseline: Literal["leave-one-out", "self-critical"] = "leave-one-out"
    """Baseline of the rewards (paper): the mean of the other samples or, as published, the most
    probable derivation. With the latter, parsers may settle on wrong trees for good."""

    samples: int = 3
    """Derivations drawn per sentence. They are compared with each other: robust and leave-one-out
    need two or more."""

    reward_scale: Schedule = 1.0
    """Factor of the rewards in the gradient (paper). Rewards are never clipped."""

    kl_weight: Schedule = 1.0
    """Weight of the divergence between posterior and prior trees (paper)."""

    entropy_weight: Schedule = 1.0
    """Weight of the entropy of target segmentations (paper)."""

    reverse_weight: Schedule = 1.0
    """Weight of the likelihood of source phrases given target phrases (robust)."""

    turned: Schedule = 0.3
    """Share of nodes that are turned around in every other drawn tree, beside its moved boundaries
    (robust). Early in training this keeps the parsers from settling on one order of phrases; later
    it takes draws from the search for boundaries."""

    summed_length: int = 12
    """Longest target, in words, for which a tree is scored by the sum over all target
    segmentations (robust). For longer targets the sum is estimated from one segmentation, which
    costs far less and may need more steps to find trees."""

    boundary_threshold: float = 0.05
    """Smallest probability of a boundary between target phrases, according to the leaf parser and
    with its boundaries moved (robust, and when derivations are collected for recombination). 0
    sums over all segmentations."""

    reversed_gradient: bool | None = None
    """Train the encoder-decoder through the posterior parser too, which reads the target in the
    encoder and the source in the decoder. Defaults to false for ``robust``, where the reverse
    likelihood does this and two thirds of the pass are saved, and to true otherwise."""

    uniform_steps: int | None = None
    """Steps in which phrases are learned from uniformly drawn derivations while the parsers wait:
    what they would learn from phrases that mean nothing yet is hard to unlearn. Defaults to 300 for
    random weights without flat_steps or a teacher, and to 0 otherwise."""

    flat_steps: int = 0
    """Steps before that in which only whole sentences are learned, as in a plain seq2seq model."""

    teacher: Literal["lexical", "none"] | None = None
    """``lexical`` learns trees from word translation tables, which take seconds to estimate from
    the bitext: derivations are drawn from the exact bitext grammar that they score. Defaults to
    lexical for random weights, unless uniform_steps or given derivations are asked for, and to none
    otherwise."""

    taught_steps: int | None = None
    """Steps in which derivations are the teacher's, after whole sentences and uniformly drawn
    derivations. Defaults to the whole run."""

    fading_steps: int = 0
    """Steps after that in which fewer and fewer batches are the teacher's, and the rest are left to
    the estimator."""

    taught_share: float = 0.35
    """Share of the sentences of a taught batch that are learned cut into phrases as well as whole;
    the others are learned whole only, which costs less."""

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
        steps = ("uniform_steps", "flat_steps", "taught_steps", "fading_steps")
        for name in ("summed_length", *steps):
            at_least(0, f"objective.{name}", getattr(self, name))
        if self.fading_steps and self.taught_steps is None:
            raise UserError(
                "objective.fading_steps follow objective.taught_steps, which are the whole run by "
                "default: set objective.taught_steps, too"
            )
        from_0_to_1("objective.taught_share", self.taught_share)
        if self.has_teacher and self.description.needs_gold:
            raise UserError(
                f"objective.teacher is {self.teacher}, but the estimator {self.estimator} learns "
                "from given derivations: set objective.teacher to none, or choose another estimator"
            )
        fewest = self.description.fewest_samples(self)
        if self.samples < fewest:
            raise UserError(
                f"objective.samples must be {fewest} or more for the estimator {self.estimator} "
                f"with these settings, not {self.samples}"
            )

    @property
    def has_teacher(self) -> bool:
        """Derivations come from a teacher for some steps."""
        return self.teacher == "lexical"

    @property
    def description(self) -> EstimatorDescription:
        """Properties of the estimator."""
        return describe_estimator(self.estimator)

    @property
    def unused(self) -> list[str]:
        """Fields that are set although the estimator does not use them."""
        others = {
            name for other in estimator_names() for name in describe_estimator(other).settings
        }
        return [
            f"objective.{field.name}"
            for field in fields(self)
            if field.name in others - {*self.description.settings}
            and getattr(self, field.name) != field.default
        ]
