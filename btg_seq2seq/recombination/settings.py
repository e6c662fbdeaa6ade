"""Settings of recombination: how sentences are recombined and, in training, when.

The fields are those of the command line and of the YAML file.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Literal

from btg_seq2seq.checks import at_least, from_0_to_1
from btg_seq2seq.errors import UserError

# Where no objective says otherwise, target phrases meet where that is at least this likely.
BOUNDARY_THRESHOLD = 0.05


@dataclass
class RecombinationSettings:
    """Settings of recombination."""

    rate: float = 1.0
    """Probability that a part of a tree is replaced. Its own parts may be replaced in turn, so at 1
    every phrase of the result is drawn again, except those that begin or end within a word."""

    overlap: float = 0.25
    """Places in trees exchange phrases if what stands there overlaps by this much: 0 is nothing, 1
    is as much as two samples of the same phrases (Morisita's index)."""

    rare: float = 0.2
    """Phrase pairs that are far rarer than is usual in their place are taken for wrong, unless they
    are more than this share of what stands there. A boundary is moved to where the sentence has
    phrase pairs that recur; what stays rare is not passed on."""

    def __post_init__(self) -> None:
        for name in ("rate", "rare"):
            from_0_to_1(f"recombination: {name}", getattr(self, name))
        if self.overlap <= 0:
            raise UserError(f"recombination: overlap must be more than 0, not {self.overlap}")


@dataclass
class RecombinationConfig(RecombinationSettings):
    """Sentences recombined from the phrases of the training set, to teach the flat mode."""

    found_by: Literal["model", "teacher"] = "model"
    """Who finds these phrases: the model, when its parsers have found their trees, and again later;
    or the lexical teacher, whose derivations are there from the first step and cost nothing more.
    """

    share: float = 0.9
    """Share of the steps that learn from recombined sentences."""

    derived: float = 0.3
    """Share of those steps that learn their derivations too: phrases, and the trees of all parsers.
    They are cleaner than what was found in single sentences, and show phrases in new places."""

    start: int | None = None
    """Step from which on sentences are recombined; ``None`` disables it. If the model finds the
    phrases, its parsers should have found their trees by then."""

    every: int = 1000
    """Steps after which the model's derivations of the training set are collected again."""

    compared: int = 0
    """Other trees, with a boundary moved, that each tree of the first collection is compared with
    by how well its phrases translate each other in both directions (robust). It finds phrases that
    are cut wrongly wherever they occur, and makes collecting several times slower."""

    exclude: list[str] = field(default_factory=list)
    """Files of sources, such as a test set's, that must never be made: '[test.de, other.de]'. Those
    of the dev set never are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("share", "derived"):
            from_0_to_1(f"recombination.{name}", getattr(self, name))
        at_least(0, "recombination.start", self.start)
        at_least(0, "recombination.compared", self.compared)
        at_least(1, "recombination.every", self.every)

    @property
    def settings(self) -> RecombinationSettings:
        """The part that says how to recombine, without when."""
        values = asdict(self)
        return RecombinationSettings(
            **{name: values[name] for name in RecombinationSettings.__dataclass_fields__}
        )
