"""The data of a run: bitexts, the tokenizer, and the encoded examples."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Tree
from btg_seq2seq.model.config import check_model
from btg_seq2seq.model.families import language_id
from btg_seq2seq.text import (
    Bitext,
    EncodedBitext,
    encode_bitext,
    load_tokenizer,
    read_lines,
    train_tokenizer,
)
from btg_seq2seq.text.batches import TokenTable
from btg_seq2seq.text.bitext import TooLong
from btg_seq2seq.text.corpus_units import CorpusUnits
from btg_seq2seq.text.frames import Frame, Frames
from btg_seq2seq.training.settings.config import CONFIG_FILE, DataConfig, TrainConfig


@dataclass(frozen=True)
class Bitexts:
    """The training set, the dev set, and sources that must not be recombined."""

    train: Bitext
    dev: Bitext | None = None
    excluded: Sequence[str] = ()  # sources that recombination must never make, like the dev set's

    @classmethod
    def from_files(cls, config: DataConfig) -> Bitexts:
        """Read the files that a configuration names."""
        config.check_given()
        train = Bitext.from_files(
            str(config.train_source),
            str(config.train_target),
            config.train_trees,
            config.train_segmentations,
        )
        if config.max_pairs is not None:
            train = first_pairs(train, config.max_pairs)
        dev = None
        if config.dev_source is not None and config.dev_target is not None:
            dev = Bitext.from_files(config.dev_source, config.dev_target, config.dev_trees)
        return cls(train, dev)

    def excluding(self, paths: Iterable[str]) -> Bitexts:
        """The same, and the sources of files are excluded too."""
        return replace(self, excluded=[*self.excluded, *chain(*map(read_lines, paths))])

    @property
    def checksums(self) -> dict[str, str]:
        """Checksums of the texts: a run can only be resumed with the same."""
        sums = {}
        for name, bitext in (("train", self.train), ("dev", self.dev)):
            if bitext is not None:
                gold = [*(bitext.trees or []), *(bitext.segmentations or [])]
                lines = [*bitext.source, *bitext.target, *gold]
                sums[name] = f"{len(bitext)} pairs with checksum {checksum(lines)}"
        if self.excluded:
            count = len(self.excluded)
            sums["excluded"] = f"{count} lines with checksum {checksum(self.excluded)}"
        return sums


def checksum(lines: Sequence[str]) -> str:
    """Return a short checksum of texts."""
    return f"{zlib.crc32(chr(10).join(lines).encode()):08x}"


def first_pairs(bitext: Bitext, count: int) -> Bitext:
    """The first ``count`` sentence pairs."""
    return _chosen(bitext, range(min(count, len(bitext))), bitext.name)


def encoded_pairs(bitext: Bitext, data: EncodedBitext) -> Bitext:
    """The sentence pairs of a bitext that its encoded form has: no empty or over-long ones."""
    if len(data) == len(bitext):
        return bitext
    left_out = len(bitext) - len(data)
    return _chosen(bitext, data.index, f"{bitext.name} without {left_out} skipped pairs")


def _chosen(bitext: Bitext, rows: Sequence[int], name: str) -> Bitext:
    def of(lines: list[str] | None) -> list[str] | None:
        return None if lines is None else [lines[row] for row in rows]

    source, target = ([lines[row] for row in rows] for lines in (bitext.source, bitext.target))
    return Bitext(source, target, of(bitext.trees), name, of(bitext.segmentations))


def build_tokenizer(config: TrainConfig, bitext: Bitext) -> PreTrainedTokenizerBase:
    """Load or train the tokenizer that a configuration asks for, and tell it the languages."""
    path = config.tokenizer.path or config.model.pretrained
    if path is None:
        kind = config.tokenizer.kind or "bpe"
        assert kind != "pretrained"  # the configuration has checked it
        texts = [*bitext.source, *bitext.target]
        return train_tokenizer(kind, texts, config.tokenizer.vocabulary_size)
    if (Path(path) / CONFIG_FILE).is_file():  # a run of ours, perhaps an unfinished one
        check_model(path)
    tokenizer = load_tokenizer(path)
    set_languages(tokenizer, config.model.source_language, config.model.target_language)
    return tokenizer


def set_languages(tokenizer: Any, source: str | None, target: str | None) -> None:
    """Tell a multilingual tokenizer what it reads; nothing leaves it as it is."""
    if source is None or target is None:
        return
    if not hasattr(tokenizer, "src_lang"):
        raise UserError(
            f"the tokenizer has no language codes, but model.source_language is {source!r}: leave "
            "the languages out"
        )
    for language in (source, target):
        language_id(language, tokenizer)  # or says which there are
    tokenizer.src_lang, tokenizer.tgt_lang = source, target


def length_limit(config: DataConfig, longest: int | None) -> tuple[int | None, TooLong]:
    """Most tokens of a side, and what happens to longer training pairs.

    ``longest`` is what the model can read, if there is an end to it: more cannot be kept.
    """
    if longest is None:
        return config.max_length, config.too_long
    if config.too_long == "keep":
        return longest, "skip"
    return min(longest, config.max_length or longest), config.too_long


def encode(
    bitext: Bitext,
    tokenizer: PreTrainedTokenizerBase,
    frames: Frames,
    max_length: int | None,
    on_too_long: TooLong,
    unit_table: Tensor | None = None,
) -> EncodedBitext:
    """Encode a bitext; its labels are a sentence's own tokens and the end token, for any family.

    What else the tokenizer puts around a target is in the decoder's prompt already. Given
    derivations must count the units of ``unit_table``, or tokens without it.
    """
    data = encode_bitext(bitext, tokenizer, max_length, on_too_long)
    end: int = tokenizer.eos_token_id
    if frames.labels != Frame([], [end]):
        framed, data.target = data.target, TokenTable()
        for row in range(len(data)):
            tokens = framed[row]
            stop = len(tokens) - len(frames.labels.suffix)
            data.target.append([*tokens[len(frames.labels.prefix) : stop], end])
    check_derivations(data, frames, unit_table)
    return data


def check_derivations(
    data: EncodedBitext, frames: Frames, unit_table: Tensor | None = None
) -> None:
    """Refuse gold derivations, trees with segmentations, that do not cover their sentences.

    Trees alone are over the words of ``text.split()``.
    """
    if data.trees is None or data.segmentations is None:
        return
    for row, (source, target) in enumerate(unit_counts(data, frames, unit_table).tolist()):
        place = f"{data.name}: line {data.index[row] + 1}"
        try:
            tree = Tree.parse(data.trees[row])
        except ValueError as error:
            raise UserError(f"{place}: {error}") from error
        covered = sum(map(int, data.segmentations[row].split()))
        if (tree.start, tree.stop, covered) != (0, source, target):
            raise UserError(
                f"{place}: the tree {tree} and target phrases of {covered} words do not cover a "
                f"sentence of {source} words and its translation of {target}: gold derivations "
                "count words and punctuation marks; with model.units=tokens, the tokens that this "
                "run's tokenizer makes"
            )


def unit_counts(
    data: EncodedBitext, frames: Frames, unit_table: Tensor | None
) -> NDArray[np.int64]:
    """Units of the source and target of every sentence pair, ``[examples, 2]``."""
    prefix, suffix = len(frames.source.prefix), len(frames.source.suffix)
    source = CorpusUnits.of(data.source, unit_table, prefix, suffix)
    target = CorpusUnits.of(data.target, unit_table, suffix=1)
    return np.stack([source.lengths, target.lengths], 1)


def too_long_for_the_grammar(
    data: EncodedBitext, frames: Frames, limit: int, unit_table: Tensor | None = None
) -> int:
    """The number of sentence pairs with more units than the grammar allows."""
    return int((unit_counts(data, frames, unit_table).max(1) > limit).sum())
