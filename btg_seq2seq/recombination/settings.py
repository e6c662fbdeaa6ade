"""Settings of recombination, and of its use in training.

The fields are those of the command line and of the YAML file.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from btg_seq2seq.checks import at_least, from_0_to_1
from btg_seq2seq.errors import UserError

# Smallest probability of a boundary between target phrases, unless an objective sets another.
BOUNDARY_THRESHOLD = 0.05


@dataclass
class RecombinationSettings:
    """Recombination of sentences."""

    rate: float = 1.0
    """Probability that a part of a tree is replaced. Its own parts may be replaced in turn, so at 1
    every phrase of the result is drawn again, except for those that begin or end within a word."""

    overlap: float = 0.25
    """Least overlap of the phrases at two places in trees that exchange them: 0 is no overlap, 1 is
    that of two samples of the same phrases (Morisita's index)."""

    rare: float = 0.2
    """Phrase pairs far rarer than usual at their place are taken for wrong, unless they are more
    than this share of all pairs there. Their boundary is moved to where the sentence has recurring
    phrase pairs; pairs that stay rare are not used."""

    def __post_init__(self) -> None:
        for name in ("rate", "rare"):
            from_0_to_1(f"recombination: {name}", getattr(self, name))
        if self.overlap <= 0:
            raise UserError(f"recombination: overlap must be more than 0, not {self.overlap}")


@dataclass
class RecombinationConfig(RecombinationSettings):
    """Sentences recombined from the model's own phrases, to teach the flat mode."""

    share: float = 0.9
    """Share of the steps that learn from recombined sentences."""

    derived: float = 0.3
    """Share of those steps that learn derivations too: phrases, and the trees of all parsers. They
    are cleaner than those found in single sentences, and show phrases in new places."""

    start: int | None = None
    """First step with recombined sentences; by default there are none. The parsers should have
    found their trees by then."""

    every: int = 1000
    """Steps between collections of the derivations of the training set."""

    compared: int = 0
    """Number of trees with a moved boundary that each tree of the first collection is compared
    with, by how well phrases translate each other in both directions (robust). It finds phrases
    that are cut wrongly wherever they occur, and makes collecting several times slower."""

    exclude: list[str] = field(default_factory=list)
    """Files of source sentences that must not be produced, such as a test set's:
    '[test.de, other.de]'. Those of the dev set are always excluded."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("share", "derived"):
            from_0_to_1(f"recombination.{name}", getattr(self, name))
        at_least(0, "recombination.start", self.start)
        at_least(0, "recombination.compared", self.compared)
        at_least(1, "recombination.every", self.every)

    @property
    def settings(self) -> RecombinationSettings:
        """Settings without those of training."""
        own = asdict(self)
        return RecombinationSettings(
            **{name: own[name] for name in RecombinationSettings.__dataclass_fields__}
        )
