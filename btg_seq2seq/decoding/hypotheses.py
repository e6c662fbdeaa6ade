"""What decoding says of a sentence, in token ids; ``Translation`` makes text of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from btg_seq2seq.grammar import Tree

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class PhraseRecord:
    """A source phrase ``[start, stop)`` and what it became.

    ``log_prob`` is the seq2seq model's; 0 for what a rule says, or, where a forced rule leaves a
    choice, how likely the model finds this one of its targets. ``rule`` is the number of the rule
    that gave the tokens, or nothing where the seq2seq model did.
    """

    start: int
    stop: int
    tokens: Tokens
    log_prob: float
    rule: int | None


@dataclass(frozen=True)
class DerivationRecord:
    """A tree over source tokens (without those that frame the sentence) and its phrases."""

    tree: Tree
    phrases: list[PhraseRecord]  # in target order


@dataclass(frozen=True)
class Hypothesis:
    """A translation: its tokens, without those that start and end a sentence.

    ``log_prob`` of a flat hypothesis is ``log p(y | x)``; of one from the chart, the log of the
    summed probabilities of all derivations in the chart. ``derivation`` is the best single one, or
    nothing for the sentence as a whole, and ``log_best`` its log-probability, where that is not
    ``log_prob``. ``segment_posterior[n - 1]`` is the share of derivations with n phrases.
    """

    tokens: Tokens
    log_prob: float
    derivation: DerivationRecord | None
    log_best: float | None = None
    segment_posterior: Sequence[float] = (1.0,)

    @property
    def best(self) -> float:
        """Log-probability of the best derivation."""
        return self.log_prob if self.log_best is None else self.log_best


@dataclass(frozen=True)
class CkyResult:
    """What the chart says of a sentence.

    ``fallback`` says why the chart was not used as usual, if so, and ``ignored`` are the numbers
    of the preferred rules that could not compete.
    """

    hypotheses: list[Hypothesis]  # best first, no string twice
    fallback: str | None = None
    ignored: list[int] = field(default_factory=list)


def hypothesis(
    log_prob: float,
    phrases: list[PhraseRecord],
    log_best: float | None = None,
    segment_posterior: Sequence[float] | None = None,
) -> Hypothesis:
    """The string that phrases, in target order, make, with its derivation.

    Unless a posterior is given, all derivations have as many phrases.
    """
    tokens = tuple(token for phrase in phrases for token in phrase.tokens)
    tree = Tree.from_phrases((phrase.start, phrase.stop) for phrase in phrases)
    if segment_posterior is None:
        segment_posterior = [0.0] * (len(phrases) - 1) + [1.0]
    derivation = DerivationRecord(tree, phrases)
    return Hypothesis(tokens, log_prob, derivation, log_best, segment_posterior)
