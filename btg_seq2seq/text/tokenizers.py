"""Tokenizers trained on the bitext, segment tokens for any tokenizer, and words as token spans.

Three kinds share one pipeline: whole words for toy tasks, BPE or unigram pieces with single bytes
for what the pieces do not cover. ``AutoTokenizer`` loads them; pretrained ones work as they are.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AutoTokenizer,
    BatchEncoding,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from btg_seq2seq.errors import UserError
from btg_seq2seq.opening import open_pretrained

TokenizerKind = Literal["word", "bpe", "unigram"]
TextSide = Literal["source", "target"]

PAD, SENTENCE_END, UNKNOWN = "<pad>", "</s>", "<unk>"
SEGMENT_START, SEGMENT_END = "<seg>", "</seg>"
SPECIAL_TOKENS = [PAD, SENTENCE_END, UNKNOWN, SEGMENT_START, SEGMENT_END]  # ids 0 to 4
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]

DEFAULT_SUBWORDS = 8000
SMALLEST_SUBWORD_VOCABULARY = 300  # special tokens, bytes, and a few characters

# A word starts with this mark. Where the text itself contains it, it is escaped, and so is the
# escape: ␛1 and ␛0.
WORD_START, ESCAPE = "▁", "␛"
# What str.split() splits at; \s of the regular expressions here lacks the four separators.
WHITESPACE = r"[\s\x1c-\x1f]"


def train_tokenizer(
    kind: TokenizerKind, texts: Iterable[str], vocabulary_size: int | None = None
) -> PreTrainedTokenizerFast:
    """Train a tokenizer on sentences of both languages.

    ``word`` knows the words of the texts (the most frequent ones, if ``vocabulary_size`` is given)
    and maps others to ``<unk>``. ``bpe`` and ``unigram`` (8000 tokens by default) encode
    every text, and decoding gives it back in Unicode normal form C without superfluous spaces. An
    encoded sentence ends in ``</s>``. No text is ever encoded as a special token. The same texts
    give the same tokenizer.
    """
    if kind not in ("word", "bpe", "unigram"):
        raise UserError(f"unknown kind of tokenizer {kind!r}: choose word, bpe or unigram")
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    if not any(text.strip() for text in texts):
        raise UserError("a tokenizer needs at least one sentence that is not empty")
    if kind == "word":
        tokenizer = _pipeline(_word_model(texts, vocabulary_size), words_only=True)
    else:
        size = DEFAULT_SUBWORDS if vocabulary_size is None else vocabulary_size
        if size < SMALLEST_SUBWORD_VOCABULARY:
            raise UserError(
                f"vocabulary_size={size} is too small: {len(SPECIAL_TOKENS)} special tokens and "
                f"{len(BYTE_TOKENS)} bytes are always in it; "
                f"use at least {SMALLEST_SUBWORD_VOCABULARY}"
            )
        texts = _with_frequent_characters(texts, (size - len(SPECIAL_TOKENS + BYTE_TOKENS)) // 2)
        train_model = _bpe_model if kind == "bpe" else _unigram_model
        tokenizer = _pipeline(train_model(texts, size))
    tokenizer.add_special_tokens([_special(token) for token in SPECIAL_TOKENS])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {SENTENCE_END}",
        pair=f"$A {SENTENCE_END} $B {SENTENCE_END}",
        special_tokens=[(SENTENCE_END, SPECIAL_TOKENS.index(SENTENCE_END))],
    )
    return _wrap(
        tokenizer,
        pad_token=PAD,
        eos_token=SENTENCE_END,
        unk_token=UNKNOWN,
        extra_special_tokens=[SEGMENT_START, SEGMENT_END],
        split_special_tokens=True,  # a special token spelled out in the text is only text
    )


def load_tokenizer(source: str | Path) -> PreTrainedTokenizerBase:
    """Load a tokenizer from a directory or the hub, with segment tokens and byte fallback."""
    tokenizer: PreTrainedTokenizerBase = open_pretrained(AutoTokenizer, source, "a tokenizer")
    tokenizer = restore_byte_fallback(tokenizer)
    add_segment_tokens(tokenizer)
    return tokenizer


def restore_byte_fallback(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """Let a tokenizer whose vocabulary has all bytes use them instead of ``<unk>``.

    For mT5: transformers reads its sentencepiece model without that option, and a third of the
    tokens of Cherokee text are unknown. Other tokenizers are returned as they are. Special tokens
    spelled out in the text are only text from now on.
    """
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return tokenizer
    description = json.loads(tokenizer.backend_tokenizer.to_str())
    model = description["model"]
    if model.get("byte_fallback") is not False or not {*BYTE_TOKENS} <= {*tokenizer.get_vocab()}:
        return tokenizer
    model["byte_fallback"] = True
    if model["type"] == "Unigram":
        # Bytes and special tokens spelled out in the text are only text, as in sentencepiece.
        lowest = min(score for _, score in model["vocab"]) - 1000
        never = {*BYTE_TOKENS, *tokenizer.all_special_tokens}
        model["vocab"] = [
            (piece, lowest if piece in never else score) for piece, score in model["vocab"]
        ]
    given = [description["decoder"]] if description["decoder"] else []
    description["decoder"] = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, *given]}
    # T5Tokenizer would build its own tokenizer again when it is loaded.
    return _wrap(
        Tokenizer.from_str(json.dumps(description)),
        extra_special_tokens=list(tokenizer.extra_special_tokens),
        model_max_length=tokenizer.model_max_length,
        split_special_tokens=True,
        **tokenizer.special_tokens_map,
    )


def add_segment_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[int, int]:
    """Give a pretrained tokenizer the tokens of phrase-level decoding; their ids (start, end).

    Does nothing where they exist. From now on special tokens spelled out in the text are only
    text. A model whose embeddings are fewer than ``len(tokenizer)`` must be resized.
    """
    # M2M-100 does not count its languages, which come right after its vocabulary: new tokens would
    # get their ids.
    languages: dict[str, int] = getattr(tokenizer, "lang_token_to_id", {})
    needed = [*sorted(languages, key=languages.__getitem__), SEGMENT_START, SEGMENT_END]
    missing = [token for token in needed if token not in tokenizer.all_special_tokens]
    if missing:
        tokenizer.add_special_tokens(
            {"extra_special_tokens": [_special(token) for token in missing]},
            replace_extra_special_tokens=False,
        )
    tokenizer.split_special_tokens = True
    tokenizer.init_kwargs["split_special_tokens"] = True  # what save_pretrained writes
    vocabulary = tokenizer.get_vocab()
    return vocabulary[SEGMENT_START], vocabulary[SEGMENT_END]


def encode_side(
    tokenizer: PreTrainedTokenizerBase, text: str | list[str], side: TextSide, **options: Any
) -> BatchEncoding:
    """Tokens without frame; some tokenizers, as Marian's, have other ones for each language."""
    name = "text" if side == "source" else "text_target"
    encoding: BatchEncoding = tokenizer(**{name: text}, add_special_tokens=False, **options)
    return encoding


def word_token_spans(
    tokenizer: PreTrainedTokenizerBase, text: str, side: TextSide = "source"
) -> list[tuple[int, int]]:
    """Find the tokens ``[start, stop)`` of each word of ``text.split()``, without special tokens.

    A mark or space before a word belongs to it, so the spans cover all tokens. They overlap where
    the tokenizer puts two words in one token, and a word that it deletes has an empty span.
    """
    if not tokenizer.is_fast:
        return _spans_without_offsets(tokenizer, text, side)
    encoding = encode_side(tokenizer, text, side, return_offsets_mapping=True)
    words = [match.span() for match in re.finditer(r"\S+", text)]
    if not words:
        return []
    starts, stops = [start for start, _ in words], [stop for _, stop in words]
    tokens_of_word: list[list[int]] = [[] for _ in words]
    for token, (start, stop) in enumerate(encoding["offset_mapping"]):
        first_word = min(bisect_right(stops, start), len(words) - 1)
        last_word = max(bisect_left(starts, stop) - 1, first_word)
        for word in range(first_word, last_word + 1):
            tokens_of_word[word].append(token)
    spans = [(0, 0)]
    for tokens in tokens_of_word:
        end = spans[-1][1]
        spans.append((tokens[0], tokens[-1] + 1) if tokens else (end, end))
    return spans[1:]


def _spans_without_offsets(
    tokenizer: PreTrainedTokenizerBase, text: str, side: TextSide
) -> list[tuple[int, int]]:
    """The same for a tokenizer in Python: its words one by one, if that gives the same tokens."""
    tokens = encode_side(tokenizer, text, side)["input_ids"]
    spans: list[tuple[int, int]] = []
    joined: list[int] = []
    for word in text.split():
        start = len(joined)
        joined += encode_side(tokenizer, word, side)["input_ids"]
        spans.append((start, len(joined)))
    if joined != tokens:
        raise UserError(
            f"{type(tokenizer).__name__} does not say which tokens belong to which word of "
            f"{text!r}; use a fast tokenizer (AutoTokenizer with tokenizer.json)"
        )
    return spans


def _wrap(tokenizer: Tokenizer, **options: Any) -> PreTrainedTokenizerFast:
    """Make it a tokenizer of transformers, one that AutoTokenizer loads as it was saved."""
    untyped: Callable[..., PreTrainedTokenizerFast] = PreTrainedTokenizerFast
    return untyped(
        tokenizer_object=tokenizer,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        **options,
    )


def _special(token: str) -> AddedToken:
    return AddedToken(token, special=True, normalized=False)


def _pipeline(
    model: models.BPE | models.Unigram | models.WordLevel, words_only: bool = False
) -> Tokenizer:
    """The pipeline that all kinds share."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(ESCAPE, ESCAPE + "0"),
            normalizers.Replace(WORD_START, ESCAPE + "1"),
            normalizers.Replace(Regex(f"{WHITESPACE}+" if words_only else " +"), " "),
            normalizers.Replace(Regex(r"\A | \z"), ""),
        ]
    )
    metaspace = pre_tokenizers.Metaspace(WORD_START, prepend_scheme="always")
    # No piece goes across white space, or contains < and more: so a piece of text is never taken
    # for a byte or a special token. A whole word starts with a mark, which these do not.
    isolated = pre_tokenizers.Split(Regex(f"<|{WHITESPACE}"), "isolated")
    tokenizer.pre_tokenizer = (
        metaspace if words_only else pre_tokenizers.Sequence([metaspace, isolated])
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(WORD_START, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
            decoders.Replace(ESCAPE + "1", WORD_START),
            decoders.Replace(ESCAPE + "0", ESCAPE),
        ]
    )
    return tokenizer


def _with_frequent_characters(texts: list[str], count: int) -> list[str]:
    """Texts in which only the most frequent characters occur: bytes will do for the others."""
    characters: Counter[str] = Counter()
    for text in texts:
        characters.update(text)
    by_frequency = sorted(characters, key=lambda character: (-characters[character], character))
    rare = dict.fromkeys(map(ord, by_frequency[count:]), " ")
    return [text.translate(rare) for text in texts] if rare else texts


def _word_model(texts: list[str], vocabulary_size: int | None) -> models.WordLevel:
    tokenizer = _pipeline(models.WordLevel({}, UNKNOWN), words_only=True)
    if vocabulary_size is None:
        vocabulary_size = len(SPECIAL_TOKENS) + len(
            {word for text in texts for word in text.split()}
        )
    elif vocabulary_size <= len(SPECIAL_TOKENS):
        raise UserError(
            f"vocabulary_size={vocabulary_size} is too small: {len(SPECIAL_TOKENS)} special tokens "
            "are always in it"
        )
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocabulary_size, special_tokens=SPECIAL_TOKENS, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return models.WordLevel(tokenizer.get_vocab(), UNKNOWN)


def _bpe_model(texts: list[str], vocabulary_size: int) -> models.BPE:
    tokenizer = _pipeline(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        min_frequency=2,
        special_tokens=SPECIAL_TOKENS + BYTE_TOKENS,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    trained = json.loads(tokenizer.to_str())["model"]
    merges = [(first, second) for first, second in trained["merges"]]
    return models.BPE(trained["vocab"], merges, unk_token=UNKNOWN, byte_fallback=True)


def _unigram_model(texts: list[str], vocabulary_size: int) -> models.Unigram:
    tokenizer = _pipeline(models.Unigram())
    always = [(token, 0.0) for token in SPECIAL_TOKENS + BYTE_TOKENS]
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary_size - len(always) + 1,  # it counts its own <unk>
        unk_token=UNKNOWN,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    scores = _reproducible({piece: score for piece, score in pieces if piece != UNKNOWN})
    unknown = SPECIAL_TOKENS.index(UNKNOWN)
    return models.Unigram([*always, *scores], unk_id=unknown, byte_fallback=True)


def _reproducible(scores: dict[str, float]) -> list[tuple[str, float]]:
    """Unigram scores in an order, and with values, that are the same for every run.

    The trainer gives the characters that its pruning removed the lowest score, plus one, two, ...
    steps of 0.0001 in the order of a hash table; here they are in the order of the characters. It
    also adds up in varying order: rounding hides that.
    """
    lowest = min(scores.values())

    def is_step(score: float) -> bool:
        step = (score - lowest) / 0.0001
        return round(step) < len(scores) and abs(step - round(step)) < 0.001

    removed = sorted(piece for piece in scores if len(piece) == 1 and is_step(scores[piece]))
    steps = sorted((scores[piece] for piece in removed), reverse=True)
    scores = scores | dict(zip(removed, steps, strict=True))
    rounded = ((piece, round(score, 6)) for piece, score in scores.items())
    return sorted(rounded, key=lambda item: (-item[1], item[0]))
