"""The trees that sentences may have, before any phrase is translated.

Their leaves are the allowed spans. ``TreeCRF`` gives the summed weights and the best trees for each
number of leaves, and the probability that a span is a leaf. Only ``leaves_beside`` needs a dynamic
program of its own: it finds the best tree around each of many leaves in one pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.decoding.chart.charts import sentence_table
from btg_seq2seq.decoding.chart.kernels import outside_kernels
from btg_seq2seq.decoding.phrase_translator import Floats
from btg_seq2seq.grammar import TreeCRF, spans
from btg_seq2seq.grammar.kernels.compiled import over_batch
from btg_seq2seq.grammar.packing import span_index, split_count

Mask = NDArray[np.bool_]

MOST_SPLITS = 2**22  # of the sentences in a batch


def possible_counts(length: int, allowed: Mask, most: int) -> Mask:
    """Return which numbers of allowed leaves, 1 to ``most``, tile a sentence: ``[most]``."""
    is_leaf = np.zeros((length + 1, length + 1), np.float32)
    is_leaf[tuple(spans(length).numpy().T)] = allowed
    reached = np.eye(1, length + 1, dtype=np.float32)[0]  # which fenceposts n leaves can reach
    result = np.zeros(most, bool)
    for n in range(most):
        reached = (reached @ is_leaf > 0).astype(np.float32)
        result[n] = reached[length] > 0
    return result


def tree_batches(lengths: Sequence[int], most: Sequence[int]) -> Iterator[list[int]]:
    """Group sentences that have trees, of similar size, such that a batch fits into memory."""
    batch: list[int] = []
    usable = [sentence for sentence, count in enumerate(most) if count > 1]
    for sentence in sorted(usable, key=lambda one: (most[one], lengths[one], one)):
        longest = max(lengths[one] for one in (*batch, sentence))
        if batch and (len(batch) + 1) * split_count(longest) > MOST_SPLITS:
            yield batch
            batch = []
        batch.append(sentence)
    if batch:
        yield batch


class Forests:
    """The trees of a batch of sentences.

    Args:
        scores: split scores of each sentence, ``[splits, 2]``.
        lengths: number of tokens of each sentence.
        most: largest number of leaves of each sentence, which must be possible.
        allowed: spans that may be leaves, ``[spans]`` bool for each sentence.
    """

    def __init__(
        self,
        scores: Sequence[Floats],
        lengths: Sequence[int],
        most: Sequence[int],
        allowed: Sequence[Mask],
    ) -> None:
        self.lengths, self.most = lengths, most
        self._scores = pad_sequence(list(map(torch.from_numpy, scores)), batch_first=True)
        self._allowed = pad_sequence(list(map(torch.from_numpy, allowed)), batch_first=True)
        self._sizes = [len(mask) for mask in allowed]

    @cached_property
    def _crf(self) -> TreeCRF:
        return TreeCRF(self._scores, self.lengths, self.most, allowed_leaves=self._allowed)

    @property
    def log_partitions(self) -> list[Floats]:
        """Log of the summed weights of trees with 1, 2, ... leaves, ``[most]`` per sentence.

        Minus infinity where no tree has that many leaves.
        """
        columns = self._crf.log_partitions.numpy()
        return [row[:count] for row, count in zip(columns, self.most, strict=True)]

    def leaf_posteriors(self, weights: Sequence[Floats]) -> list[Floats]:
        """Compute the probability that each span is a leaf, ``[spans]`` per sentence.

        ``weights[b][n - 1]`` is the probability that a tree of sentence b has n leaves.
        """
        padded = pad_sequence(list(map(torch.from_numpy, weights)), batch_first=True)
        marginals = np.nan_to_num(self._crf.leaf_marginals(padded).numpy())
        return [row[:size] for row, size in zip(marginals, self._sizes, strict=True)]

    def best_leaves(self, counts: Sequence[Sequence[int]]) -> list[Mask]:
        """Mark the leaves of the best tree for each of the given numbers of leaves."""
        result = [np.zeros(size, bool) for size in self._sizes]
        rows = [(sentence, n) for sentence, own in enumerate(counts) for n in own]
        if not rows:
            return result
        trees = self._crf.best_trees(*torch.tensor(rows).unbind(1))
        leaves = span_index(*trees.phrases.unbind(-1)).numpy()  # [rows, leaves]
        for (sentence, n), places in zip(rows, leaves, strict=True):
            result[sentence][places[:n]] = True
        return result


def leaves_beside(
    scores: Sequence[Floats],
    lengths: Sequence[int],
    log_counts: Sequence[Floats],
    allowed: Sequence[Mask],
    wanted: Sequence[Mask],
) -> list[Mask]:
    """Mark all leaves of the best trees that have a wanted leaf, ``[spans]`` per sentence.

    There is one such tree for each wanted leaf and each number of leaves n for which
    ``log_counts[n - 1]`` is finite, if any tree has that leaf. Many wanted leaves cost no more than
    one.
    """
    if not scores:
        return []
    segments = [len(own) for own in log_counts]
    counts = np.full((len(scores), max(segments)), -math.inf)
    for row, own in zip(counts, log_counts, strict=True):
        row[: len(own)] = own
    kept = np.zeros(sum(map(len, allowed)), np.int64)
    over_batch(
        outside_kernels.keep_trees,
        len(scores),
        20 * max(lengths) ** 2 * max(segments),
        sentence_table(lengths, segments),
        np.concatenate(scores),
        counts,
        np.concatenate(allowed).astype(np.int64),
        np.concatenate(wanted).astype(np.int64),
        kept,
    )
    ends = np.cumsum([len(mask) for mask in allowed])
    return np.split(kept.astype(bool), ends[:-1])
