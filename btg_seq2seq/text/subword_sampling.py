"""Subword regularisation: other tokens for the same text, drawn at random.

BPE dropout (Provilkov et al., 2020) and sampling of unigram segmentations (Kudo, 2018). The
``tokenizers`` library has both, but its random numbers cannot be seeded. Here they are the
caller's, so that a run can be resumed and shared between processes. Only the cuts inside words
change: every word stays a whole number of tokens.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Any

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.errors import UserError
from btg_seq2seq.text.tokenizers import BYTE_TOKENS, WORD_START

WORDS_REMEMBERED = 2**16


class SubwordSampler(ABC):
    """Draws other tokens for the words of a sentence. ``pieces`` are all tokens by their id."""

    def __init__(self, pieces: Mapping[int, str], fixed: frozenset[str]) -> None:
        self.pieces = pieces
        self.ids = {piece: token for token, piece in pieces.items()}
        self.fixed = fixed  # special tokens and bytes

    @abstractmethod
    def sample_word(self, word: str, random: Random) -> Sequence[str]:
        """Cut a word, its start marked, into pieces."""

    def __call__(self, tokens: Sequence[int], random: Random) -> list[int]:
        """Draw other tokens for the same text."""
        drawn: list[int] = []
        word = ""
        for token in tokens:
            piece = self.pieces[token]
            is_fixed = piece in self.fixed
            if word and (is_fixed or piece.startswith(WORD_START)):
                drawn += [self.ids[part] for part in self.sample_word(word, random)]
                word = ""
            if is_fixed:
                drawn.append(token)
            else:
                word += piece
        if word:
            drawn += [self.ids[part] for part in self.sample_word(word, random)]
        return drawn


class BPESampler(SubwordSampler):
    """BPE in which each possible merge is left out with a probability, at every turn."""

    def __init__(
        self,
        pieces: Mapping[int, str],
        fixed: frozenset[str],
        merges: Sequence[tuple[str, str]],
        dropout: float,
    ) -> None:
        super().__init__(pieces, fixed)
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.dropout = dropout

    def sample_word(self, word: str, random: Random) -> Sequence[str]:
        parts, ranks, draw, dropout = list(word), self.ranks, random.random, self.dropout
        while True:
            best, place = len(ranks), -1
            for left, pair in enumerate(pairwise(parts)):
                rank = ranks.get(pair, best)
                if rank < best and draw() >= dropout:
                    best, place = rank, left
            if place < 0:
                return parts
            parts[place : place + 2] = [parts[place] + parts[place + 1]]


class UnigramSampler(SubwordSampler):
    """Segmentations with a probability in proportion to the product of ``p(piece) ** alpha``."""

    def __init__(
        self,
        pieces: Mapping[int, str],
        fixed: frozenset[str],
        scores: Mapping[str, float],
        alpha: float,
    ) -> None:
        super().__init__(pieces, fixed)
        self.scores = {
            piece: alpha * score for piece, score in scores.items() if piece not in fixed
        }
        self.longest = max(map(len, self.scores))
        self.ways = lru_cache(WORDS_REMEMBERED)(self._ways)

    def _ways(self, word: str) -> list[tuple[list[int], list[float]]]:
        """For each end, the starts of the last piece and their cumulative shares."""
        totals, ways = [0.0], []  # totals: log weight of all segmentations of word[:end]
        for end in range(1, len(word) + 1):
            edges = [
                (start, totals[start] + self.scores[word[start:end]])
                for start in range(max(0, end - self.longest), end)
                if word[start:end] in self.scores and totals[start] > -math.inf
            ]
            highest = max((weight for _, weight in edges), default=-math.inf)
            total, cumulative = 0.0, []
            for _, weight in edges:
                total += math.exp(weight - highest)
                cumulative.append(total)
            totals.append(highest + math.log(total) if edges else -math.inf)
            ways.append(([start for start, _ in edges], cumulative))
        return ways

    def sample_word(self, word: str, random: Random) -> Sequence[str]:
        ways, end = self.ways(word), len(word)
        parts: list[str] = []
        while end:
            starts, cumulative = ways[end - 1]
            drawn = random.random() * cumulative[-1]
            chosen = next(place for place, share in enumerate(cumulative) if drawn < share)
            parts.append(word[starts[chosen] : end])
            end = starts[chosen]
        return parts[::-1]


def subword_sampler(
    tokenizer: PreTrainedTokenizerBase, bpe_dropout: float, unigram_alpha: float | None
) -> SubwordSampler | None:
    """Build the sampler for a tokenizer; ``None`` if neither setting asks for one."""
    if not bpe_dropout and unigram_alpha is None:
        return None
    setting, kind = ("bpe_dropout", "BPE") if bpe_dropout else ("unigram_alpha", "Unigram")
    description = _description(tokenizer)
    model = description.get("model", {})
    marks = f'"{WORD_START}"' in json.dumps(description.get("pre_tokenizer"), ensure_ascii=False)
    if model.get("type") != kind or not marks:
        own = model.get("type", type(tokenizer).__name__)
        raise UserError(
            f"tokenizer.{setting} needs a {kind} tokenizer that marks the start of words with "
            f"{WORD_START}, but this one is {own}: leave the setting out, or train a tokenizer of "
            f"the kind {kind.lower()}"
        )
    pieces = {token: piece for piece, token in tokenizer.get_vocab().items()}
    added: dict[str, int] = tokenizer.get_added_vocab()
    fixed = frozenset({*tokenizer.all_special_tokens, *added, *BYTE_TOKENS})
    if kind == "BPE":
        merges = [(first, second) for first, second in model["merges"]]
        return BPESampler(pieces, fixed, merges, bpe_dropout)
    assert unigram_alpha is not None
    return UnigramSampler(pieces, fixed, dict(model["vocab"]), unigram_alpha)


def _description(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    described: dict[str, Any] = {} if backend is None else json.loads(backend.to_str())
    return described
