"""Sentences of a text, with sentencex: one rule set per language, and no model to download.

A cut in the wrong place breaks a sentence for the translator; a cut too few does little harm. So
sentencex is a good choice: where it is not sure, it does not cut.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import sentencex

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Span

DEFAULT_LANGUAGE = "en"


def check_language(language: str) -> str:
    """Return the language of a code such as ``de`` or ``pt-BR``; English rules if there is none."""
    primary = language.replace("_", "-").partition("-")[0].lower()
    if language and not (primary.isascii() and primary.isalpha() and 2 <= len(primary) <= 8):
        raise UserError(f"{language[:40]!r} is no code of a language, such as de or pt-BR")
    return primary or DEFAULT_LANGUAGE


def sentence_spans(text: str, language: str = "", whole: Sequence[Span] = ()) -> list[Span]:
    """Characters of each sentence, without the white space around it.

    No sentence ends inside one of the spans ``whole``, nor is one of white space alone.
    """
    parts = sentencex.segment(check_language(language), text)
    ends, position = [], 0
    if "".join(parts) == text:
        for part in parts[:-1]:
            position += len(part)
            ends.append(position)
    inside = {place for start, stop in whole for place in range(start + 1, stop)}
    borders = [0, *(end for end in ends if end not in inside), len(text)]
    return [
        span
        for start, stop in itertools.pairwise(borders)
        if (span := stripped(text, start, stop))[0] < span[1]
    ]


def stripped(text: str, start: int, stop: int) -> Span:
    """Return a span of characters without the white space at its ends."""
    while start < stop and text[start].isspace():
        start += 1
    while start < stop and text[stop - 1].isspace():
        stop -= 1
    return start, stop
