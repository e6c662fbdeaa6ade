"""Units of the grammar: which tokens begin a word, a punctuation mark or a character.

The grammar cuts sentences between units, never inside a word (see ``words``) or a character. Most
tokenizers mark the start of a word after a space; whether any other token begins a unit depends on
its first character and on the end of the token before it. A table has both for every token of a
vocabulary, so that the units of token ids are known without their text.

Where a token has only some bytes of a character, the table is cautious: a unit may then be more
than a word, but never less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from btg_seq2seq.errors import UserError
from btg_seq2seq.text.tokenizers import ESCAPE, WORD_START
from btg_seq2seq.text.words import JOINER as ZERO_WIDTH_JOINER
from btg_seq2seq.text.words import STACKERS, Kind, kind_of

# The start of a token, in the two low bits of its entry.
BEGINS = 0  # punctuation, unspaced scripts, special tokens: begins a unit
LETTER = 1  # begins a unit unless a letter precedes
CONTINUES = 2  # marks, and bytes within a character: never begins a unit
SPACED = 3  # a space or its mark: begins a unit
# Its end, in the next two bits. A letter is LETTER here too.
BREAK = 0  # punctuation, unspaced scripts, special tokens
JOINER = 2  # whatever follows without a space belongs to it
SPACE = 3  # nothing but space: it belongs to whatever follows

STARTS: dict[Kind, int] = {
    "space": SPACED,
    "word": LETTER,
    "unspaced": BEGINS,
    "mark": CONTINUES,
    "other": BEGINS,
}
WORD_END = "</w>"  # of byte pairs as first published
UNKNOWN_PART = b"\x80"  # an unknown token may be a part of a word: treated as an inner byte
JOINER_ENDS = (b"\x8d", b"\x80\x8d")  # last bytes of a zero-width joiner


def unit_table(tokenizer: PreTrainedTokenizerBase) -> Tensor:
    """Start and end of every token of a vocabulary, ``[highest id + 1]`` in uint8.

    All tokens are units if the tokenizer does not mark words; but no unit begins inside a
    character.
    """
    vocabulary = tokenizer.get_vocab()
    table = torch.zeros(max(vocabulary.values(), default=-1) + 1, dtype=torch.uint8)
    contents = list(_contents(tokenizer, vocabulary))
    if contents:
        tokens, texts = zip(*contents, strict=True)
        table[list(tokens)] = torch.tensor([_entry(text) for text in texts], dtype=torch.uint8)
    return table


def marks_words(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the tokens of a tokenizer show where words begin."""
    vocabulary = tokenizer.get_vocab()
    if _has_mark(tokenizer, vocabulary) or _is_byte_level(vocabulary):
        return True
    if _ends_words(tokenizer, vocabulary) or _glues(vocabulary):
        return True
    return len(tokenizer.tokenize("words")) == 1


def begins_unit(before: Any, entries: Any) -> Any:
    """Tell whether tokens begin a unit, from their entries and those of the tokens before them.

    Both are arrays of torch or NumPy of the same shape.
    """
    start, end = entries & 3, before >> 2
    return (
        ((start == SPACED) & (end != SPACE))
        | ((start == BEGINS) & (end <= LETTER))
        | ((start == LETTER) & (end == BREAK))
    )


def unit_starts(table: Tensor, tokens: Tensor) -> Tensor:
    """Tell which tokens begin a unit, ``[..., length]``; the first of a sentence always does."""
    entries = table[tokens]
    begins = begins_unit(entries[..., :-1], entries[..., 1:])
    return torch.cat([torch.ones_like(entries[..., :1], dtype=torch.bool), begins], -1)


def unit_fenceposts(starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Positions in tokens at which units meet, and the number of units, ``[batch]``.

    ``starts`` are ``[batch, longest]``. The fenceposts are ``[batch, most units + 1]``; those
    behind the last unit of a sentence repeat its length.
    """
    position = torch.arange(starts.shape[1], device=starts.device)
    starts = starts & (position < lengths[:, None])
    counts = starts.sum(1)
    most = int(counts.max()) if len(counts) else 0
    posts = lengths[:, None].repeat(1, most + 2)
    # Tokens within a unit go to a last column, which is dropped.
    rank = torch.where(starts, starts.cumsum(1) - 1, most + 1)
    posts.scatter_(1, rank, position.expand_as(rank))
    return posts[:, :-1], counts


def fenceposts_of(table: Tensor | None, tokens: Sequence[int]) -> list[int]:
    """Positions at which the units of one sentence meet, from 0 to its length.

    Every token is a unit without a table.
    """
    if table is None or not tokens:
        return list(range(len(tokens) + 1))
    entries = table.cpu().numpy()[np.asarray(tokens)]  # several times faster than torch
    begins = np.flatnonzero(begins_unit(entries[:-1], entries[1:])) + 1
    return [0, *begins.tolist(), len(tokens)]


class WordJoins(NamedTuple):
    """Tokens that may be joined to a neighbour: a phrase with such an edge cannot be put anywhere.

    Most tokenizers mark where a word begins, some where it ends; so one of the two says little.
    """

    continuing: frozenset[int] = frozenset()  # may continue the word before
    unfinished: frozenset[int] = frozenset()  # may be continued by the token behind

    def at(self, units: Sequence[Sequence[int]], place: int) -> bool:
        """Tell whether a cut of a sentence before the unit at this place may be within a word."""
        continues = place < len(units) and units[place][0] in self.continuing
        return continues or (place > 0 and units[place - 1][-1] in self.unfinished)


NO_JOINS = WordJoins()


def word_joins(tokenizer: PreTrainedTokenizerBase) -> WordJoins:
    """Tokens that may be joined to a neighbour.

    ``UserError`` if the tokenizer does not mark words, as those whose tokens are bytes.
    """
    if not marks_words(tokenizer):
        raise UserError(
            f"the tokens of {type(tokenizer).__name__} do not say where words begin: sentences "
            "cannot be recombined without cutting words; leave recombination out (no "
            "recombination.start), or choose another model or tokenizer"
        )
    table = unit_table(tokenizer)
    starts, ends = table & 3, table >> 2
    if _ends_words(tokenizer, tokenizer.get_vocab()):
        unfinished = (ends == LETTER) | (ends == JOINER)
        return WordJoins(_where(starts == CONTINUES), _where(unfinished))
    return WordJoins(_where((starts == LETTER) | (starts == CONTINUES)))


def _where(mask: Tensor) -> frozenset[int]:
    return frozenset(mask.nonzero()[:, 0].tolist())


def _contents(
    tokenizer: PreTrainedTokenizerBase, vocabulary: dict[str, int]
) -> Iterator[tuple[int, bytes]]:
    """Ids and UTF-8 bytes of the tokens that are not special; a space begins a word."""
    special = {*tokenizer.all_special_tokens}
    tokens = [(token, number) for token, number in vocabulary.items() if token not in special]
    if _is_byte_level(vocabulary):
        codes = _byte_names()
        for token, number in tokens:
            if all(name in codes for name in token):
                yield number, bytes(codes[name] for name in token)
            else:  # an added token
                yield number, token.encode(errors="replace")
    elif _has_mark(tokenizer, vocabulary):
        texts = [(number, _marked_content(token)) for token, number in tokens]
        yield from texts
        if any(not text.startswith(b" ") for _, text in texts):  # else all tokens are words
            yield from ((vocabulary[token], UNKNOWN_PART) for token in _unknown(tokenizer))
    elif _ends_words(tokenizer, vocabulary):  # a space follows the last token of a word
        for token, number in tokens:
            inside = token.removesuffix(WORD_END)
            yield number, (inside if inside == token else f"{inside} ").encode(errors="replace")
    elif _glues(vocabulary):
        for token, number in tokens:
            inside = token.removeprefix("##")
            yield number, inside.encode() if inside != token else b" " + token.encode()
    elif all(chr(byte) in vocabulary for byte in range(256)):  # a token for each byte
        for token, number in tokens:
            if len(token) == 1 and 0x80 <= ord(token) < 0xC0:
                yield number, bytes([ord(token)])


def _marked_content(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes([int(token[3:5], 16)])
    return token.replace(WORD_START, " ").encode(errors="replace")


def _unknown(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    return [] if tokenizer.unk_token is None else [str(tokenizer.unk_token)]


def _is_byte_level(vocabulary: Iterable[str]) -> bool:
    """Pieces of bytes under other names, as GPT-2's and BART's; the mark of words is not one."""
    known = {*vocabulary}
    return {*_byte_names()} <= known and not any(WORD_START in token for token in known)


def _has_mark(tokenizer: PreTrainedTokenizerBase, vocabulary: Iterable[str]) -> bool:
    special = {*tokenizer.all_special_tokens}
    return any(token.startswith(WORD_START) for token in vocabulary if token not in special)


def _ends_words(tokenizer: PreTrainedTokenizerBase, vocabulary: Iterable[str]) -> bool:
    """Words are marked where they end, and only there."""
    if _is_byte_level(vocabulary) or _has_mark(tokenizer, vocabulary):
        return False
    return any(token.endswith(WORD_END) for token in vocabulary)


def _glues(vocabulary: Iterable[str]) -> bool:
    return any(token.startswith("##") for token in vocabulary)


@lru_cache(maxsize=1)
def _byte_names() -> dict[str, int]:
    names: dict[int, str] = bytes_to_unicode()  # type: ignore[no-untyped-call]
    return {name: byte for byte, name in names.items()}


def _entry(content: bytes) -> int:
    """Start and end of a token."""
    if not content:
        return BEGINS | BREAK << 2
    if not content.strip(b" "):
        return SPACED | SPACE << 2
    return _start(content) | _end(content) << 2


def _start(content: bytes) -> int:
    size = _character_size(content[0])
    if size == 0:
        return CONTINUES
    if len(content) >= size:
        return STARTS[kind_of(content[:size].decode(errors="replace"))]
    return _cautious_start(content)


def _end(content: bytes) -> int:
    if content in JOINER_ENDS:
        return JOINER
    text = content.decode(errors="ignore")
    if text.endswith((ZERO_WIDTH_JOINER, ESCAPE, *STACKERS)):
        return JOINER
    if not text or not content.endswith(text[-1].encode()):
        return LETTER  # what precedes the end may be one
    kinds = [kind_of(character) for character in text]
    base = next((kind for kind in reversed(kinds) if kind != "mark"), "word")
    is_letter = base == "word" or (base == "space" and kinds[-1] == "mark")
    return LETTER if is_letter else BREAK


def _character_size(byte: int) -> int:
    """Bytes of the character that begins with this byte; 0 if none does."""
    if byte < 0x80:
        return 1
    sizes = ((0xC2, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xF4, 4))
    return next((size for first, last, size in sizes if first <= byte <= last), 0)


@lru_cache(maxsize=1024)
def _cautious_start(prefix: bytes) -> int:
    """The start of a token that ends inside its first character, whatever that may be."""
    missing = _character_size(prefix[0]) - len(prefix)
    if missing == 3:
        return CONTINUES  # among other things, a mark
    code = prefix[0] & (0x1F if prefix[0] < 0xE0 else 0x0F if prefix[0] < 0xF0 else 0x07)
    for byte in prefix[1:]:
        code = code << 6 | byte & 0x3F
    codes = range(code << 6 * missing, code + 1 << 6 * missing)
    kinds = {kind_of(chr(code)) for code in codes}
    if "mark" in kinds:
        return CONTINUES
    return LETTER if "word" in kinds else BEGINS
