"""What decoding says of a sentence, in token ids; ``Translation`` makes text of it."""

from __future__ import annotations

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
    summed probabilities of all derivations in the chart. ``derivation`` is the best single one.
    """

    tokens: Tokens
    log_prob: float
    derivation: DerivationRecord | None


@dataclass(frozen=True)
class CkyResult:
    """What the chart says of a sentence.

    ``segment_posterior[n - 1]`` is the share of derivations with n phrases in the best
    hypothesis's probability. ``fallback`` says why the chart was not used as usual, if so, and
    ``ignored`` are the numbers of the preferred rules that could not compete then.
    """

    hypotheses: list[Hypothesis]  # best first, no string twice
    segment_posterior: list[float]
    fallback: str | None
    ignored: list[int] = field(default_factory=list)


def hypothesis(log_prob: float, phrases: list[PhraseRecord]) -> Hypothesis:
    """The string that phrases, in target order, make, with its derivation."""
    tokens = tuple(token for phrase in phrases for token in phrase.tokens)
    tree = Tree.from_phrases((phrase.start, phrase.stop) for phrase in phrases)
    return Hypothesis(tokens, log_prob, DerivationRecord(tree, phrases))
