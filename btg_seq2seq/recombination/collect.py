"""Collect the derivations that a model finds in a whole bitext."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np
import torch
from accelerate.utils import gather_object  # type: ignore[import-untyped]
from numpy.typing import NDArray
from torch import Tensor

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers, draw_segments, most_segments
from btg_seq2seq.derivations.proposals import moved_leaves, one_boundary_moved
from btg_seq2seq.derivations.segmentation_sum import Leaves, SegmentationSum, likely_boundaries
from btg_seq2seq.grammar import LeafCRF, TreeBatch
from btg_seq2seq.grammar.packing import split_count
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.modes import evaluating
from btg_seq2seq.recombination.settings import BOUNDARY_THRESHOLD
from btg_seq2seq.text.batches import Collator, EncodedBitext
from btg_seq2seq.text.length_batches import length_batches

Track = Callable[[Sequence[NDArray[np.int64]], str], Iterable[NDArray[np.int64]]]
MOST_SCORES = 2**24  # of target splits that are held at a time; 64 MB


def untracked(
    batches: Sequence[NDArray[np.int64]], description: str
) -> Iterable[NDArray[np.int64]]:
    """Show no progress."""
    return batches


@torch.inference_mode()
def collect_derivations(
    model: BTGSeq2Seq,
    examples: EncodedBitext,
    *,
    batch_size: int = 64,
    segment_rate: float | None = None,
    compared: int = 0,
    boundary_threshold: float = BOUNDARY_THRESHOLD,
    seed: int = 0,
    processes: int = 1,
    rank: int = 0,
    track: Track = untracked,
) -> DerivationCorpus:
    """Collect the posterior's best trees, with the target phrases that translate best.

    Args:
        model: the model whose parsers and phrase translations are used.
        examples: the bitext.
        batch_size: sentence pairs per batch; fewer where they are long.
        segment_rate: rate of the geometric distribution from which the number of phrases of each
            sentence is drawn. By default a sentence has as many phrases as it and the model allow.
        compared: number of other trees that each tree is compared with, see ``_choose``.
        boundary_threshold: least probability of a place where target phrases may meet.
        seed: seed of all random choices.
        processes, rank: number of processes and the rank of this one. Each takes a share of the
            batches, and all of them return the whole.
        track: iterates over the batches and shows the progress.
    """
    uniforms = np.random.default_rng([seed, 1]).random(len(examples))
    collate = Collator(model.backbone.pad)
    rows: list[list[list[int]]] = [[] for _ in range(len(examples))]
    trees = 1 + compared  # per sentence, each with scores of its own
    batches = length_batches(
        examples.lengths.max(1),
        lambda count, longest: (
            count <= batch_size and count * trees * split_count(longest) <= MOST_SCORES
        ),
    )
    share = [np.array(batch) for batch in islice(batches, rank, None, processes)]
    with evaluating(model):
        for positions in track(share, "looking for derivations"):
            batch = collate([examples[int(position)] for position in positions])
            inputs = [batch[name] for name in ("input_ids", "attention_mask", "labels")]
            reading = model.read(*(tensor.to(model.device) for tensor in inputs))
            if reading.pair is None:
                continue
            positions = positions[reading.rows.cpu().numpy()]
            segments = most_segments(model, reading.pair)
            if segment_rate is not None:
                drawn = torch.as_tensor(uniforms[positions], device=segments.device)
                segments = draw_segments(segments, segment_rate, drawn)
            parsers = Parsers.of(model, reading.pair, segments)
            noise = Noise.of(batch["index"].to(model.device)[reading.rows], seed, 0)
            spans = _choose(model, parsers, noise, compared, boundary_threshold)
            for position, count, row in zip(
                positions.tolist(), segments.tolist(), spans.tolist(), strict=True
            ):
                rows[position] = row[:count]
    if processes > 1:  # for each sentence, only one process has phrases
        rows = [max(found, key=len) for found in zip(*gather_object([rows]), strict=True)]
    return DerivationCorpus.packed(rows, len(model.config.prefix))


def _choose(
    model: BTGSeq2Seq, parsers: Parsers, noise: Noise, compared: int, boundary_threshold: float
) -> Tensor:
    """Source and target phrases in target order, ``[batch, phrases, 4]``.

    The posterior's best tree is compared with ``compared`` others in which one boundary is moved.
    The tree whose phrases translate each other best, in both directions, is taken, and along it
    the target phrases that the seq2seq model finds most probable. The parsers only propose: if
    they also decided, they would learn from their own choices and confirm their mistakes.
    """
    pair, limit = parsers.pair, parsers.limit
    batch, count = len(pair.states), 1 + compared
    best = parsers.posterior.argmax
    first = (noise.uniforms(0, 1)[:, 0] * 2**20).long()
    limits = parsers.posterior.limits
    others = [one_boundary_moved(best, first + n, limits) for n in range(compared)]
    trees = TreeBatch.interleaved([best, *others])
    several = pair.repeat(count)
    leaves = LeafCRF(several.leaf_scores, several.target.units, trees, limit)
    likely = likely_boundaries(leaves, moved_leaves(leaves, count, limit), leaves.argmax)
    boundaries = likely.view(batch, count, -1).amax(1) >= boundary_threshold
    sentences = torch.arange(batch, device=likely.device)
    rows = Leaves(sentences.repeat_interleave(count), trees.phrases, trees.segments, leaves.limits)
    total = SegmentationSum.of(model, pair, rows, boundaries)
    targets, chosen = total.argmax, sentences * count
    if compared:
        pairs = PhrasePairs.forward(trees, targets).reverse()
        score = total.log_sum + model.phrase_log_probs(several, pairs, reverse=True).sum(1)
        chosen = chosen + score.view(batch, count).argmax(1)
    return torch.cat([trees.phrases, targets.phrases], -1)[chosen]
