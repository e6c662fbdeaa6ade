"""Settings of the grammar: one class for the model's configuration and for training settings.

Nothing here needs torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from btg_seq2seq.checks import one_of, true_or_false, whole

PHRASE_ENCODINGS = ("alone", "sentence", "both")


@dataclass(kw_only=True)
class GrammarSettings:
    """Phrases and parsers of a model."""

    section: ClassVar[str] = ""  # before the names of fields in errors

    units: Literal["words", "tokens"] = "words"
    """Units of the grammar: phrases begin and end between them. ``words`` are words and punctuation
    marks, and tokens in scripts without spaces; ``tokens`` are always tokens, which cuts words."""

    max_segments: int = 4
    """Most phrases per sentence."""

    max_phrase_length: int | None = 16
    """Longest phrase in words, on either side; it is raised for a sentence that is too long for
    its number of phrases. ``null`` disables the limit, and one long phrase and some short ones may
    then explain any sentence."""

    max_grammar_length: int = 100
    """A sentence with more words on either side is trained flat, without trees."""

    phrase_encoding: Literal["alone", "sentence", "both"] = "alone"
    """``alone`` encodes a phrase without its neighbours, so that wrong boundaries cost something;
    ``sentence``, as in the paper, takes its part of the sentence's states; ``both`` takes the mean
    of these and those of the phrase alone."""

    scorer_width: int = 128
    """Hidden units of the parsers."""

    share_scorers: bool = False
    """Use one scorer for all three parsers, which still read different states: fewer weights."""

    residual_posterior: bool = True
    """Add the scores of the parser that sees both sides to those of the parser that sees the
    source."""

    def __post_init__(self) -> None:
        for name in ("max_segments", "max_grammar_length", "scorer_width"):
            whole(f"{self.section}{name}", getattr(self, name), 1)
        if self.max_phrase_length is not None:
            whole(f"{self.section}max_phrase_length", self.max_phrase_length, 1)
        one_of(f"{self.section}units", self.units, ("words", "tokens"))
        one_of(f"{self.section}phrase_encoding", self.phrase_encoding, PHRASE_ENCODINGS)
        for name in ("share_scorers", "residual_posterior"):
            true_or_false(f"{self.section}{name}", getattr(self, name))
