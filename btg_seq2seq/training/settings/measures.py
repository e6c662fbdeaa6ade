"""Measures of the dev set that can choose the best checkpoint: ``optimisation.metric``; no torch.

Losses are measured by training itself. Everything else comes from outside and is registered here by
whoever measures it: ``evaluation.metrics`` for translations and trees, or another program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from btg_seq2seq.errors import UserError


@dataclass(frozen=True)
class Measure:
    """A quantity with a name, measured in every evaluation during training.

    ``needs``: ``"translations"`` of dev sentences, those of ``"cky translations"``, gold
    ``"trees"``, or ``None`` for a loss.
    """

    name: str
    greater_is_better: bool = True
    needs: Literal["translations", "cky translations", "trees"] | None = None


# In every evaluation; other terms of the loss depend on the estimator and the step.
MEASURES: dict[str, Measure] = {
    name: Measure(name, greater_is_better=False) for name in ("loss", "flat")
}

# Terms of the loss, and error rates that other programs measure without registering them.
_LESS_IS_BETTER = {
    *("phrases", "reverse", "parsing", "divergence", "prior", "posterior", "leaves"),
    *("perplexity", "ter", "aer"),
}


def register_measure(measure: Measure) -> None:
    """Make a measure known, so that ``optimisation.metric`` accepts its name."""
    if MEASURES.setdefault(measure.name, measure) != measure:
        raise UserError(f"there is another measure of the name {measure.name!r}")


def greater_is_better(name: str) -> bool:
    """Direction of a measure; greater is better if it is neither registered nor a loss."""
    if name in MEASURES:
        return MEASURES[name].greater_is_better
    return not _is_loss(name)


def measured_by_training(name: str) -> bool:
    """Tell losses, which training measures itself, from all other measures."""
    return MEASURES[name].needs is None if name in MEASURES else _is_loss(name)


def needs_translations(name: str) -> bool:
    """Tell measures of translations; one that is not registered may be one, unless it is a loss."""
    if name in MEASURES:
        return MEASURES[name].needs in ("translations", "cky translations")
    return not _is_loss(name)


def _is_loss(name: str) -> bool:
    return name.endswith("loss") or name in _LESS_IS_BETTER
