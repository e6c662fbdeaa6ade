"""Settings of the lexical teacher."""

from __future__ import annotations

from dataclasses import dataclass

from btg_seq2seq.checks import at_least, finite, from_0_to_1, true_or_false, whole
from btg_seq2seq.errors import UserError

MOST_UNITS = 2**15 - 1  # positions are kept in 16 bits


@dataclass(frozen=True)
class LexicalSettings:
    """Settings of the lexical teacher; all that its results depend on, besides the text."""

    max_segments: int = 4
    """Largest number of phrases of a derivation."""

    max_phrase_length: int | None = 16
    """Longest phrase in units, on either side; relaxed for a sentence that could not be cut into n
    phrases otherwise, as in the model's own parsers. None: no limit."""

    segment_rate: float = 0.2
    """Rate of the truncated geometric distribution over numbers of phrases."""

    drawn_rate: float | None = None
    """The same for drawn derivations, which have two phrases or more. None: ``segment_rate``."""

    table_iterations: int = 8
    """Iterations of EM for the word-translation tables."""

    agreement: bool = False
    """The two directions of the word-translation tables are learned together."""

    phrase_iterations: int = 3
    """Iterations of EM for the phrase pairs that recur in the corpus; 0 leaves only the words."""

    concentration: float = 1.0
    """Weight of the word-translation tables against counts of recurring phrase pairs."""

    draws: int = 10
    """Derivations drawn for each sentence pair."""

    max_units: int = 80
    """Longest side of a sentence pair that gets derivations, in units."""

    beam: float | None = 30.0
    """In all but short sentences, pairs of spans are pruned if the words in and around them are
    less likely, by this many nats, than for the best target span of the same source span. Very
    long sentences get a narrower beam, and are one phrase if even that leaves too much. None:
    nothing is pruned, and time and memory are not bounded."""

    seed: int = 0
    """Seed of the drawn derivations."""

    def __post_init__(self) -> None:
        for name in ("max_segments", "max_units", "table_iterations"):
            whole(name, getattr(self, name), least=1)
        for name in ("phrase_iterations", "draws"):
            whole(name, getattr(self, name))
        at_least(1, "max_phrase_length", self.max_phrase_length)
        from_0_to_1("segment_rate", self.segment_rate, ends=False)
        from_0_to_1("drawn_rate", self.drawn_rate, ends=False)
        true_or_false("agreement", self.agreement)
        finite("concentration", self.concentration, least=1e-9)
        if self.max_units > MOST_UNITS:
            raise UserError(f"max_units must be {MOST_UNITS} or less, not {self.max_units}")
        if self.beam is not None:
            finite("beam", self.beam)
        whole("seed", self.seed, least=-(2**62))
