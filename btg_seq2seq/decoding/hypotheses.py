"""Results of decoding, in token ids; ``translation`` makes text of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from btg_seq2seq.decoding.phrase_translator import Tokens
from btg_seq2seq.derivations.derivation import Derivation, PhrasePair


@dataclass(frozen=True)
class TranslatedPhrase:
    """A source phrase, units ``[start, stop)``, and the tokens of its translation.

    ``log_prob`` is that of the phrase translator. It is 0 for a preferred rule; where a forced rule
    has several targets, it is the share of this one. ``rule`` is the number of the rule that gave
    the tokens; ``None`` if the phrase translator did.
    """

    start: int
    stop: int
    tokens: Tokens
    log_prob: float
    rule: int | None = None


@dataclass(frozen=True)
class Hypothesis:
    """A translation of a sentence, without the tokens that start and end a sentence.

    Source phrases of its derivation count units, and target phrases count ``tokens``. ``log_prob``
    of a flat hypothesis is ``log p(y | x)``; of one from the chart, the log of the summed
    probabilities of all its derivations in the chart. ``derivation`` is the best of these, and
    ``log_best`` its log-probability, if that is not ``log_prob``. ``segment_posterior[n - 1]`` is
    the share of derivations with n phrases.

    ``rank_score`` is the score by which hypotheses are ranked, if that is not ``log_prob``; then
    ``derivation`` is the best by score, and ``log_best`` its score. ``features`` are those of this
    derivation, where a chart has them.
    """

    tokens: Tokens
    log_prob: float
    derivation: Derivation
    log_best: float | None = None
    segment_posterior: Sequence[float] = (1.0,)
    rank_score: float | None = None
    features: tuple[float, ...] | None = None

    @classmethod
    def from_phrases(
        cls,
        phrases: Sequence[TranslatedPhrase],
        log_prob: float,
        log_best: float | None = None,
        segment_posterior: Sequence[float] | None = None,
        rank_score: float | None = None,
        features: tuple[float, ...] | None = None,
    ) -> Hypothesis:
        """Build the hypothesis that phrases, in target order, add up to.

        By default all of its derivations have this number of phrases.
        """
        tokens: list[int] = []
        pairs = []
        for phrase in phrases:
            begin = len(tokens)
            tokens += phrase.tokens
            spans = (phrase.start, phrase.stop), (begin, len(tokens))
            pairs.append(PhrasePair(*spans, phrase.log_prob, phrase.rule))
        if segment_posterior is None:
            segment_posterior = [0.0] * (len(phrases) - 1) + [1.0]
        derivation = Derivation.from_phrases(pairs)
        shares = segment_posterior
        return cls(tuple(tokens), log_prob, derivation, log_best, shares, rank_score, features)

    @classmethod
    def whole(
        cls,
        length: int,
        tokens: Tokens,
        log_prob: float,
        segment_posterior: Sequence[float] = (1.0,),
    ) -> Hypothesis:
        """Build the translation of a sentence of ``length`` units as one phrase."""
        derivation = Derivation.whole(length, len(tokens), log_prob)
        return cls(tokens, log_prob, derivation, None, segment_posterior)

    @property
    def score(self) -> float:
        """The number by which hypotheses are ranked."""
        return self.log_prob if self.rank_score is None else self.rank_score

    @property
    def best_log_prob(self) -> float:
        """Log-probability, or score, of the best derivation."""
        return self.score if self.log_best is None else self.log_best

    @property
    def phrases(self) -> list[TranslatedPhrase]:
        """The phrases of the best derivation, in target order."""
        return [
            TranslatedPhrase(
                *pair.source,
                self.tokens[slice(*pair.target)],
                self.log_prob if pair.log_prob is None else pair.log_prob,
                pair.rule,
            )
            for pair in self.derivation.phrases
        ]


@dataclass(frozen=True)
class CkyResult:
    """The translations that the chart finds for a sentence.

    ``fallback`` is the reason why the chart was not used as usual, if it was not. ``ignored`` has
    the numbers of the preferred rules that could not compete.
    """

    hypotheses: list[Hypothesis]  # best first, no string twice
    fallback: str | None = None
    ignored: list[int] = field(default_factory=list)
