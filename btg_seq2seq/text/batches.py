"""From bitext to batches of token ids: encoding, padding, and which sentences share a batch.

All of it is a pure function of the data and a seed, so a run that was killed can be resumed, and
several processes can share every batch. Line numbers travel with the sentences, for messages.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NotRequired, TypedDict

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Sampler
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.errors import UserError
from btg_seq2seq.text.bitext import Bitext, TooLong

IGNORED = -100  # a label that is no token: the losses of torch and transformers skip it
LINES_A_CALL = 10_000  # of the tokenizer: what it returns is large while it lasts
WINDOW_BATCHES = 50  # sentences are sorted by length within this many batches,
GROUP_BATCHES = 2  # and by the length of their source within this many of these


class Example(TypedDict):
    """One sentence pair; ``index`` is its line number, from 0."""

    input_ids: list[int]
    labels: list[int]
    index: int
    tree: NotRequired[str]
    segmentation: NotRequired[list[tuple[int, int]]]  # target phrases, one for each leaf


class TokenTable:
    """Many lists of token ids in one array: four bytes a token, not forty."""

    def __init__(self) -> None:
        self.tokens, self.ends = array("i"), array("q", [0])

    def append(self, row: Sequence[int]) -> None:
        """Add a list of ids."""
        self.tokens.extend(row)
        self.ends.append(len(self.tokens))

    def __getitem__(self, row: int) -> list[int]:
        return self.tokens[self.ends[row] : self.ends[row + 1]].tolist()

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of ids in each list."""
        return np.diff(np.asarray(self.ends))


class EncodedBitext(Dataset[Example]):
    """The sentence pairs that can be trained on, and the lines that cannot.

    Line numbers are indices of the bitext, from 0: ``empty`` are pairs of which a side is empty,
    ``too_long`` those with more tokens than ``max_length`` (in the data only if kept).
    """

    def __init__(self, bitext: Bitext, max_length: int | None = None) -> None:
        self.name, self.lines, self.max_length = bitext.name, len(bitext), max_length
        self.source, self.target = TokenTable(), TokenTable()
        self.index: list[int] = []
        self.trees: list[str] | None = None if bitext.trees is None else []
        self.segmentations: list[str] | None = None if bitext.segmentations is None else []
        self.empty: list[int] = []
        self.too_long: list[int] = []

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, position: int) -> Example:
        position = range(len(self))[position]
        example = Example(
            input_ids=self.source[position],
            labels=self.target[position],
            index=self.index[position],
        )
        if self.trees is not None:
            example["tree"] = self.trees[position]
        if self.segmentations is not None:
            ends = accumulate(map(int, self.segmentations[position].split()), initial=0)
            example["segmentation"] = list(pairwise(ends))
        return example

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of source and target: ``[examples, 2]``, what ``BucketSampler`` takes."""
        return np.stack([self.source.lengths, self.target.lengths], 1)

    def summary(self) -> str:
        """Say in one line what was read, and which lines are special."""
        parts = [f"{self.name}: {len(self)} of {self.lines} pairs"]
        if self.empty:
            parts.append(f"{len(self.empty)} skipped with an empty side ({_lines(self.empty)})")
        if self.too_long:
            what = "kept" if set(self.too_long) <= set(self.index) else "skipped"
            parts.append(
                f"{len(self.too_long)} {what} with more than {self.max_length} tokens "
                f"({_lines(self.too_long)})"
            )
        return ", ".join(parts)


def encode_bitext(
    bitext: Bitext,
    tokenizer: PreTrainedTokenizerBase,
    max_length: int | None = None,
    on_too_long: TooLong = "error",
) -> EncodedBitext:
    """Encode a bitext; ``max_length`` counts the tokens of either side with ``</s>``.

    Pairs with an empty side are skipped; those that are too long are an error, skipped, or kept.
    The result counts both.
    """
    if on_too_long not in ("error", "skip", "keep"):
        raise UserError(f"on_too_long is error, skip or keep, not {on_too_long!r}")
    data = EncodedBitext(bitext, max_length)
    # What a line without text is encoded as: </s>, and for some tokenizers a language code.
    empty_source, empty_target = _encode(tokenizer, [""], [""])
    for first in range(0, len(bitext), LINES_A_CALL):
        lines = slice(first, first + LINES_A_CALL)
        sources, targets = _encode(tokenizer, bitext.source[lines], bitext.target[lines])
        for index, (source, target) in enumerate(zip(sources, targets, strict=True), first):
            if source == empty_source[0] or target == empty_target[0]:
                data.empty.append(index)
                continue
            longest = max(len(source), len(target))
            if max_length is not None and longest > max_length:
                if on_too_long == "error":
                    raise UserError(
                        f"{bitext.name}: line {index + 1} has {longest} tokens, more than "
                        f"max_length={max_length}; raise it, or skip or keep such lines"
                    )
                data.too_long.append(index)
                if on_too_long == "skip":
                    continue
            data.source.append(source)
            data.target.append(target)
            data.index.append(index)
            if data.trees is not None and bitext.trees is not None:
                data.trees.append(bitext.trees[index])
            if data.segmentations is not None and bitext.segmentations is not None:
                data.segmentations.append(bitext.segmentations[index])
    if not data:
        raise UserError(f"no sentence pairs are left: {data.summary()}")
    return data


def _encode(
    tokenizer: PreTrainedTokenizerBase, source: list[str], target: list[str]
) -> tuple[list[list[int]], list[list[int]]]:
    # text_target: multilingual tokenizers put the language codes of the target side
    return (
        tokenizer(source, verbose=False)["input_ids"],
        tokenizer(text_target=target, verbose=False)["input_ids"],
    )


def _lines(indices: list[int], shown: int = 5) -> str:
    numbers = ", ".join(str(index + 1) for index in indices[:shown])
    more = ", ..." if len(indices) > shown else ""
    return f"line{'s' if len(indices) > 1 else ''} {numbers}{more}"


class Collator:
    """Pads examples to a batch: a plain dictionary of tensors, and of ``trees`` where given.

    Labels, index, tree and segmentation may be absent. The ``Trainer`` of transformers takes away
    what the model does not name in its ``forward`` unless ``remove_unused_columns=False``.
    """

    def __init__(self, pad_token_id: int) -> None:
        self.pad_token_id = pad_token_id

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        source = [torch.as_tensor(example["input_ids"]) for example in examples]
        batch: dict[str, Any] = {
            "input_ids": _pad(source, self.pad_token_id),  # [batch, source length]
            "attention_mask": _pad([torch.ones_like(row) for row in source], 0),
        }
        if "labels" in examples[0]:
            labels = [torch.as_tensor(example["labels"]) for example in examples]
            batch["labels"] = _pad(labels, IGNORED)  # [batch, target length]
        if "index" in examples[0]:
            batch["index"] = torch.tensor([example["index"] for example in examples])  # [batch]
        if "tree" in examples[0]:
            batch["trees"] = [example["tree"] for example in examples]
        if "segmentation" in examples[0]:
            batch["segmentations"] = [example["segmentation"] for example in examples]
        return batch


def _pad(rows: list[Tensor], value: int) -> Tensor:
    return pad_sequence(rows, batch_first=True, padding_value=value)


def parts_of(batch: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Cut what a ``Collator`` made into ``count`` parts, or fewer, without padding they share.

    Sentences with targets of similar length are grouped: decoding takes most of the time.
    """
    if count == 1:
        return [dict(batch)]
    size = math.ceil(len(batch["input_ids"]) / count)
    order = (batch["labels"] != IGNORED).sum(1).argsort(stable=True)
    parts = []
    for rows in torch.split(order, size):
        part = {name: _rows(value, rows) for name, value in batch.items()}
        source = int(part["attention_mask"].sum(1).max())
        target = int((part["labels"] != IGNORED).sum(1).max())
        part |= {name: part[name][:, :source] for name in ("input_ids", "attention_mask")}
        parts.append(part | {"labels": part["labels"][:, :target]})
    return parts


def _rows(values: Any, rows: Tensor) -> Any:
    return values[rows] if isinstance(values, Tensor) else [values[row] for row in rows.tolist()]


class BucketSampler(Sampler[list[int]]):
    """Batches of sentences of similar length, in an order that depends on (seed, epoch) only.

    ``lengths`` is ``[examples]`` or ``[examples, sides]``. An epoch has every example once, in the
    same number of batches as every other epoch: either of at most ``batch_size`` examples, equal
    up to one; or of about ``batch_tokens`` tokens (of the longer side, without padding), equal up
    to one sentence. Every batch is shared between ``num_replicas`` processes; ``rank`` says which
    this is. To resume, set the epoch and skip the batches that are done.
    """

    def __init__(
        self,
        lengths: ArrayLike,
        *,
        batch_size: int | None = None,
        batch_tokens: int | None = None,
        seed: int = 0,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        sides = np.asarray(lengths, dtype=np.int64)
        self.lengths = sides[:, None] if sides.ndim == 1 else sides  # [examples, sides]
        if self.lengths.size == 0 or self.lengths.min() < 1:
            raise UserError("batches need at least one sentence, and none that is empty")
        if not 0 <= rank < num_replicas:
            raise UserError(f"rank {rank} is not one of {num_replicas} processes")
        if seed < 0:
            raise UserError(f"a seed is not negative, but {seed} is")
        self.seed, self.epoch = seed, 0
        self.num_replicas, self.rank = num_replicas, rank
        self.batch_size, self.batch_tokens = batch_size, batch_tokens
        self.longest = self.lengths.max(1)  # [examples]
        if batch_size is not None and batch_tokens is None:
            name, budget, self.weights = "batch_size", batch_size, np.ones_like(self.longest)
        elif batch_tokens is not None and batch_size is None:
            name, budget, self.weights = "batch_tokens", batch_tokens, self.longest
        else:
            raise UserError("give batch_size or batch_tokens, one of the two")
        if budget < 1:
            raise UserError(f"{name} must be at least 1, not {budget}")
        total, heaviest = int(self.weights.sum()), int(self.weights.max())
        self.batches_per_epoch = math.ceil(total / budget)
        # A part of width total / batches has the middle of at least num_replicas sentences.
        if total < self.batches_per_epoch * num_replicas * heaviest:
            sentence = f" (the longest sentence has {heaviest})" if name == "batch_tokens" else ""
            needed = "a sentence" + f" for each of {num_replicas} processes" * (num_replicas > 1)
            raise UserError(
                f"{name}={budget} is too small{sentence}: not every batch would have {needed}; "
                f"raise {name} to {2 * heaviest * num_replicas} or so, or leave out long sentences"
            )

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration goes through."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.batches_per_epoch

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.global_batches(self.epoch):
            yield batch[self.rank :: self.num_replicas]

    def global_batches(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, not yet shared between processes."""
        random = np.random.default_rng([self.seed, epoch])
        # Shuffled, then sorted so that neighbours have like lengths.
        order = random.permutation(len(self.longest))
        windows = self._cut(order, self.batches_per_epoch / WINDOW_BATCHES)
        order = _there_and_back([self._sorted(window) for window in windows])
        batches = self._cut(order, self.batches_per_epoch)
        return [batches[i].tolist() for i in random.permutation(len(batches))]

    def _sorted(self, window: NDArray[np.int64]) -> NDArray[np.int64]:
        # By the longer side first, then by the source among sentences of which that is similar:
        # measured, that pads less than either alone.
        window = window[np.argsort(self.longest[window], kind="stable")]
        batches = self.batches_per_epoch * self.weights[window].sum() / self.weights.sum()
        groups = self._cut(window, batches / GROUP_BATCHES)
        source = self.lengths[:, 0]
        return _there_and_back(
            [group[np.argsort(source[group], kind="stable")] for group in groups]
        )

    def _cut(self, order: NDArray[np.int64], parts: float) -> list[NDArray[np.int64]]:
        """Cut into parts of equal weight: a sentence is in the part in which its middle is."""
        count, weights = max(1, round(parts)), self.weights[order]
        doubled_middles = 2 * weights.cumsum() - weights
        part = doubled_middles * count // (2 * weights.sum())
        return np.split(order, np.searchsorted(part, np.arange(1, count)))


def _there_and_back(pieces: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join sorted pieces, every second one reversed: what meets at the seams is alike."""
    return np.concatenate([piece[:: -1 if i % 2 else 1] for i, piece in enumerate(pieces)])
