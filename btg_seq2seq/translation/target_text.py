"""From phrases in tokens to a text, in which the targets of rules stand as they were written.

A tokenizer decodes what the model wrote. Targets of rules are not decoded but copied, and kept
apart from their neighbours: so they are words of the text whatever tokens stand beside them.
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

Part = tuple[tuple[int, ...], str | None]  # tokens, and the text of a rule's target

REPLACEMENT = "\ufffd"  # stands for bytes that are no character
WINDOW = 64  # tokens that are decoded again with each phrase


class TargetWriter:
    """Makes texts of tokens."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer

    def encode(self, target: str) -> tuple[int, ...]:
        """Tokens of a phrase as it stands in the middle of a sentence."""
        before, both = self.encode_sentence("a"), self.encode_sentence(f"a {target}")
        # Where a space marks the start of a word, it must be there.
        is_prefix = both[: len(before)] == before
        return both[len(before) :] if is_prefix else self.encode_sentence(target)

    def encode_sentence(self, text: str) -> tuple[int, ...]:
        """Tokens of a whole translation, without those that frame it."""
        return tuple(encode_side(self.tokenizer, text, "target")["input_ids"])

    def write(self, parts: Sequence[Part]) -> tuple[str, list[Span]]:
        """The text, and the characters of each part; these tile the text."""
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
        """What stands between a text and the target of a rule."""
        if not text or text[-1].isspace() or is_unspaced(text, target):
            return ""
        is_open = unicodedata.category(text[-1]) in ("Ps", "Pi")
        if is_open and self._glues_brackets and not would_merge(text, target):
            return ""
        return " "

    def _decode_run(
        self, phrases: Sequence[tuple[int, ...]], is_first: bool
    ) -> tuple[str, list[int]]:
        """The text of phrases, and the number of its characters that the first one, two, ... make.

        A phrase may end within the bytes of a character: the next phrase gets it.
        """
        decode = self._decode if is_first else self._decode_behind
        tokens = [token for phrase in phrases for token in phrase]
        text, ends = decode(tokens), []
        # Decoding every prefix from its start would take a time that grows with the square of the
        # length: the tokens before ``begin``, which read ``text[:known]``, are not decoded again.
        begin, known, stop = 0, 0, 0
        for phrase in phrases:
            stop += len(phrase)
            part = (self._decode_behind if begin else decode)(tokens[begin:stop])
            same = _agreement(part, text[known : known + len(part)])
            # Tokens may read differently behind others, beside those for half a character.
            if begin and part[same:].strip(REPLACEMENT):
                begin, known, part = 0, 0, decode(tokens[:stop])
                same = _agreement(part, text)
            ends.append(known + same)
            if stop - begin >= WINDOW and same == len(part):
                begin, known = stop, known + same
        return text, ends

    def _decode_behind(self, tokens: list[int]) -> str:
        """The text of tokens in the middle of a sentence, with the space before it."""
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
        """A token for a word, which shows whether what follows it begins with a space."""
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
        """Whether a bracket and a word without a space between them are tokens of their own."""
        tokens = self.encode_sentence("(a")
        return len(tokens) > 1 and self._decode(tokens) == "(a"


def _agreement(first: str, second: str) -> int:
    """Number of characters that two texts have in common at their start."""
    shorter = min(len(first), len(second))
    if first[:shorter] == second[:shorter]:
        return shorter
    return next(place for place in range(shorter) if first[place] != second[place])
