"""Estimators of the loss of sentences cut into phrases: the interface and the registry.

An estimator is a class in its own file. Its description says what it needs, so that settings, data
and recombination never compare names. Descriptions are light: ``btg train --help`` lists them
without importing torch, and the class is imported when a loss is computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from btg_seq2seq.errors import UserError
from btg_seq2seq.options.wording import did_you_mean

if TYPE_CHECKING:
    from btg_seq2seq.derivations.noise import Noise
    from btg_seq2seq.model.reading import Pair
    from btg_seq2seq.model.transducer import BTGSeq2Seq
    from btg_seq2seq.training.objective.gold import GivenDerivations
    from btg_seq2seq.training.objective.phases import Step
    from btg_seq2seq.training.objective.terms import Terms
    from btg_seq2seq.training.settings.objective import ObjectiveSettings

PACKAGE = "btg_seq2seq.training.objective"


class Estimator(ABC):
    """Computes the loss of sentences cut into n > 1 phrases, for one batch."""

    @abstractmethod
    def terms(
        self,
        model: BTGSeq2Seq,
        pair: Pair,
        step: Step,
        noise: Noise,
        given: GivenDerivations | None = None,
    ) -> Terms:
        """Return the loss of each sentence pair and the terms to log.

        Args:
            model: translates phrases.
            pair: states and parser scores of the sentence pairs.
            step: the settings at this step of training.
            noise: the only source of random numbers; those of a sentence do not depend on its
                batch.
            given: derivations that the batch comes with: to learn from or, if they have a density,
                proposals of a teacher.
        """


def _one_sample(settings: ObjectiveSettings) -> int:
    return 1


@dataclass(frozen=True)
class EstimatorDescription:
    """Properties of an estimator, without its implementation.

    Args:
        name: its value in ``objective.estimator``.
        implementation: the class, or where it is defined: ``"package.module:Class"``.
        summary: one sentence for the help.
        settings: the fields of ``ObjectiveSettings`` that only some estimators use, and this one
            does.
        needs_gold: learns from given derivations only. The parsers then learn from the first step
            after ``flat_steps``.
        learns_reversed: by default, the posterior's gradient flows through the reversed pass.
        learns_both_directions: learns source phrases given target phrases too, with
            ``reverse_weight``.
        takes_proposals: after a teacher has taught, its derivations are still proposed to the
            estimator, as ``given`` derivations with a ``log_density``.
        fewest_samples: the smallest value of ``samples``, which may depend on other settings.
    """

    name: str
    implementation: str | type[Estimator]
    summary: str
    settings: tuple[str, ...] = ()
    needs_gold: bool = False
    learns_reversed: bool = True
    learns_both_directions: bool = False
    takes_proposals: bool = False
    fewest_samples: Callable[[ObjectiveSettings], int] = _one_sample

    def create(self) -> Estimator:
        """Import the class if necessary and return an instance."""
        implementation: Any = self.implementation
        if isinstance(implementation, str):
            module, _, name = implementation.partition(":")
            implementation = getattr(import_module(module), name)
        estimator: Estimator = implementation()
        return estimator


_REGISTRY: dict[str, EstimatorDescription] = {}


def register_estimator(description: EstimatorDescription) -> None:
    """Make an estimator available as ``objective.estimator``."""
    if description.name in _REGISTRY:
        raise UserError(f"there is another estimator of the name {description.name!r}")
    _REGISTRY[description.name] = description


def estimator_names() -> list[str]:
    """All registered names, in the order of registration."""
    return list(_REGISTRY)


def describe_estimator(name: str) -> EstimatorDescription:
    """Look up an estimator by its name."""
    if name not in _REGISTRY:
        known = estimator_names()
        raise UserError(
            f"objective.estimator: {name!r} is not one of {', '.join(known)}"
            f"{did_you_mean(str(name), known)}"
        )
    return _REGISTRY[name]


register_estimator(
    EstimatorDescription(
        "robust",
        f"{PACKAGE}.robust:RobustEstimator",
        "importance-weighted derivations that must explain both sides",
        settings=("samples", "reverse_weight", "turned", "summed_length"),
        learns_reversed=False,  # the reverse likelihood trains that pass; two thirds are saved
        learns_both_directions=True,
        takes_proposals=True,
        fewest_samples=lambda settings: 2,  # weights are relative to each other
    )
)
register_estimator(
    EstimatorDescription(
        "paper",
        f"{PACKAGE}.paper:PaperEstimator",
        "score-function gradients, as published",
        settings=("samples", "baseline", "reward_scale", "kl_weight", "entropy_weight"),
        fewest_samples=lambda settings: 2 if settings.baseline == "leave-one-out" else 1,
    )
)
register_estimator(
    EstimatorDescription(
        "gold",
        f"{PACKAGE}.gold:GoldEstimator",
        "given derivations",
        needs_gold=True,
    )
)
