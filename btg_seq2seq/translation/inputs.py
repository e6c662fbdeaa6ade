"""Checks of the texts given to a translator: not a text, half a character, too long.

An error has the sentence's rank and the reason, so that a command can name the line instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from btg_seq2seq.errors import SentenceError, UserError
from btg_seq2seq.text.words import half_character
from btg_seq2seq.translation.translation import Translation

if TYPE_CHECKING:
    from btg_seq2seq.translation.target_text import TargetWriter

# A given translation: a text, a result, or token strings that read the same.
Target = str | Translation | Sequence[Sequence[int]]

# A text with more characters than both of these allow is refused before it is tokenized.
CHARACTERS_PER_TOKEN = 100
MOST_CHARACTERS = 2**21
REMEDY = "split it into sentences, or raise max_length (--max-length)"


class SentenceLengthError(SentenceError):
    """A sentence longer than the settings allow, or than the model can read or write."""


def check_texts(texts: Sequence[str], most: int | None, what: str = "it") -> None:
    """Refuse anything but a list of texts that can be encoded in UTF-8.

    A text may have ``most`` tokens. One with far more characters is refused at once.
    """
    if isinstance(texts, str):
        raise UserError("texts must be a list of sentences, not one string")
    for sentence, text in enumerate(texts):
        check_text(sentence, text, most, what)


def check_text(sentence: int, text: str, most: int | None, what: str = "it") -> None:
    """Check one text; see ``check_texts``."""
    if not isinstance(text, str):
        raise SentenceError(sentence, f"{what} must be a string, not {type(text).__name__}")
    if most is not None and len(text) > max(CHARACTERS_PER_TOKEN * most, MOST_CHARACTERS):
        raise SentenceLengthError(
            sentence,
            f"{what} has {len(text)} characters, too many for max_length = {most} tokens; "
            f"{REMEDY}: {text[:40]!r}...",
        )
    if half := half_character(text):
        raise SentenceError(sentence, f"{what} has half a character, {half}")


def check_pairs(sources: Sequence[str], targets: Sequence[Target]) -> None:
    """Refuse anything but two lists of the same length."""
    if isinstance(sources, str) or isinstance(targets, str):
        raise UserError("sources and targets must be lists of sentences, not one string")
    if len(sources) != len(targets):
        raise UserError(f"{len(sources)} sources, but {len(targets)} targets")


def reads_as_its_text(writer: TargetWriter, translation: Translation) -> bool:
    """Return whether a translation's token strings read as its text, which may be edited."""
    text, strings = translation.text, translation.variants
    if not strings or any(writer.write([(tokens, None)])[0] == text for tokens in strings):
        return True
    if writer.encode_sentence(text) in strings:  # with words that the model does not know
        return True
    # Targets of rules appear in the text as they are written, whatever their tokens read as.
    derivation = translation.derivation
    if derivation is None or all(phrase.rule is None for phrase in derivation.phrases):
        return False
    parts = [text[slice(*phrase.target_span)] for phrase in derivation.phrases]
    targets = [phrase.target for phrase in derivation.phrases]
    return "".join(parts) == text and [part.strip() for part in parts] == targets
