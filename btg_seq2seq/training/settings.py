"""What the objective can be told; the fields are the command line's and the YAML file's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass
class ObjectiveSettings:
    """How a loss is made of a batch."""

    estimator: Literal["robust", "paper", "gold"] = "robust"
    """``robust``: importance-weighted derivations that must explain both sides; ``paper``:
    score-function gradients; ``gold``: given derivations."""

    flat_weight: float = 0.5
    """Weight of whole sentences, n = 1; cuts into phrases, n > 1, have the rest."""

    segment_rate: float = 0.5
    """Rate of the geometric distribution from which the number of phrases n > 1 is drawn."""

    baseline: Literal["leave-one-out", "self-critical"] = "leave-one-out"
    """What rewards are compared with (paper): the other samples', or, as published, the most
    probable derivation's. With the latter, parsers may settle on wrong trees for good."""

    samples: int = 4
    """Derivations drawn a sentence; leave-one-out needs two or more."""

    reward_scale: float = 1.0
    """Factor on the rewards' part of the gradient; rewards are never clipped."""

    kl_weight: float = 1.0
    """Weight of the divergence between posterior and prior trees."""

    entropy_weight: float = 1.0
    """Weight of the entropy of target segmentations."""

    reverse_weight: float = 1.0
    """Weight of the source phrases' likelihood given the target phrases (robust)."""

    def __post_init__(self) -> None:
        if not 0 <= self.flat_weight <= 1:
            raise ValueError(f"flat_weight must lie between 0 and 1, not {self.flat_weight}")
        if not 0 < self.segment_rate < 1:
            raise ValueError(f"segment_rate must lie between 0 and 1, not {self.segment_rate}")
        if self.samples < 1 or (self.baseline == "leave-one-out" and self.samples < 2):
            raise ValueError(f"samples must be 1 or more, 2 for leave-one-out, not {self.samples}")
