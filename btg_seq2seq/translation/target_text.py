"""From phrases in tokens to text.

A tokenizer decodes the phrases of the model. Targets of rules are copied instead, and separated
from their neighbours: so they are words of the text whatever tokens are beside them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby, pairwise

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.grammar import Span
from btg_seq2seq.text import encode_side
from btg_seq2seq.text.words import is_unspaced, would_merge

TargetPart = tuple[tuple[int, ...], str | None]  # tokens, and the text of a rule's target

REPLACEMENT = "\ufffd"  # stands for bytes that are not a character
WINDOW = 64  # tokens decoded again with each phrase


class TargetWriter:
    """Decodes phrases into text, and encodes targets."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer

    def encode(self, target: str) -> tuple[int, ...]:
        """Return the tokens of a phrase in the middle of a sentence."""
        before, both = self.encode_sentence("a"), self.encode_sentence(f"a {target}")
        # With tokenizers that mark word starts by a space, the space must be there.
        is_prefix = both[: len(before)] == before
        return both[len(before) :] if is_prefix else self.encode_sentence(target)

    def encode_sentence(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a whole translation, without a frame."""
        return tuple(encode_side(self.tokenizer, text, "target")["input_ids"])

    def write(self, parts: Sequence[TargetPart]) -> tuple[str, list[Span]]:
        """Return the text, and the characters of each part, which tile the text."""
        text, ends = "", [0]
        for is_given, run in groupby(parts, key=lambda part: part[1] is not None):
            if is_given:
                for _, target in run:
                    text += self._space_before(text, str(target)) + str(target)
                    ends.append(len(text))
            else:
                words, stops = self._decode_run([tokens for tokens, _ in run], is_first=not text)
                if would_merge(text, words):
                    text += " "
                ends += [len(text) + stop for stop in stops]
                text += words
        stripped = text.strip()
        lost = len(text) - len(text.lstrip())
        ends = [min(max(end - lost, 0), len(stripped)) for end in ends]
        ends[-1] = len(stripped)
        return stripped, list(pairwise(sorted(ends)))

    def _space_before(self, text: str, target: str) -> str:
        """Separator between a text and the target of a rule."""
        if not text or text[-1].isspace() or is_unspaced(text, target):
            return ""
        is_open = unicodedata.category(text[-1]) in ("Ps", "Pi")
        if is_open and self._glues_brackets and not would_merge(text, target):
            return ""
        return " "

    def _decode_run(
        self, phrases: Sequence[tuple[int, ...]], is_first: bool
    ) -> tuple[str, list[int]]:
        """Decode phrases; returns the text and the number of its characters up to each phrase.

        If a phrase ends within the bytes of a character, the next phrase gets the character.
        """
        decode = self._decode if is_first else self._decode_behind
        tokens = [token for phrase in phrases for token in phrase]
        text, ends = decode(tokens), []
        # Decoding every prefix from its start would take quadratic time. So the tokens before
        # ``begin``, which read ``text[:known]``, are not decoded again.
        begin, known, stop = 0, 0, 0
        for phrase in phrases:
            stop += len(phrase)
            part = (self._decode_behind if begin else decode)(tokens[begin:stop])
            same = _agreement(part, text[known : known + len(part)])
            # Tokens may read differently after others, not only those for half a character.
            if begin and part[same:].strip(REPLACEMENT):
                begin, known, part = 0, 0, decode(tokens[:stop])
                same = _agreement(part, text)
            ends.append(known + same)
            if stop - begin >= WINDOW and same == len(part):
                begin, known = stop, known + same
        return text, ends

    def _decode_behind(self, tokens: list[int]) -> str:
        """Decode tokens in the middle of a sentence, with the space before them."""
        if self._anchor is None:
            return self._decode(tokens)
        anchor = self._decode([self._anchor])
        both = self._decode([self._anchor, *tokens])
        return both.removeprefix(anchor) if both.startswith(anchor) else " " + self._decode(tokens)

    def _decode(self, tokens: Sequence[int]) -> str:
        text = self.tokenizer.decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return str(text)

    @cached_property
    def _anchor(self) -> int | None:
        """A token for a word, which shows whether the next token begins with a space."""
        special = {*self.tokenizer.all_special_ids}
        for piece, token in sorted(self.tokenizer.get_vocab().items(), key=lambda item: item[1]):
            # A byte would be decoded together with those that follow.
            if token not in special and not piece.startswith("<0x"):
                text = self._decode([token])
                if text.isascii() and text.isalnum() and self._decode([token] * 2) != text:
                    return token
        return None

    @cached_property
    def _glues_brackets(self) -> bool:
        """True if a bracket and a word without a space between them are separate tokens."""
        tokens = self.encode_sentence("(a")
        return len(tokens) > 1 and self._decode(tokens) == "(a"


def _agreement(first: str, second: str) -> int:
    """Length of the common prefix of two texts."""
    shorter = min(len(first), len(second))
    if first[:shorter] == second[:shorter]:
        return shorter
    return next(place for place in range(shorter) if first[place] != second[place])
