"""Derivations of a whole training set: the trees and target phrases that a model finds in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from accelerate.utils import gather_object  # type: ignore[import-untyped]
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import Tensor

from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers, draw_segments, most_segments
from btg_seq2seq.derivations.proposals import moved_leaves, one_boundary_moved
from btg_seq2seq.derivations.segmentation_sum import Leaves, SegmentationSum, likely_boundaries
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import LeafCRF, Segmentation, Tree, TreeBatch
from btg_seq2seq.grammar.packing import split_count
from btg_seq2seq.model.modes import evaluating
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.recombination.settings import BOUNDARY_THRESHOLD
from btg_seq2seq.text.batches import Collator, EncodedBitext
from btg_seq2seq.text.length_batches import length_batches

Track = Callable[[Sequence[NDArray[np.int64]], str], Iterable[NDArray[np.int64]]]
MOST_SCORES = 2**24  # of target splits that are held at a time; 64 MB


def untracked(
    batches: Sequence[NDArray[np.int64]], description: str
) -> Iterable[NDArray[np.int64]]:
    """Show nothing."""
    return batches


@dataclass(frozen=True, eq=False)
class Derivations:
    """The phrases of the sentence pairs of a set, in target order; none where there is no tree.

    Phrases in target order have one tree in normal form, so they are all that is kept.
    """

    spans: NDArray[np.int32]  # [phrases, 4]: source start and stop, target start and stop
    ends: NDArray[np.int64]  # [sentences + 1]: where the phrases of a sentence begin
    prefix: int = 0  # tokens before the source proper in ``input_ids``

    @classmethod
    def given(
        cls,
        trees: Iterable[Tree | None],
        segmentations: Iterable[Segmentation | None],
        prefix: int = 0,
    ) -> Derivations:
        """From trees and target phrases, such as gold ones."""
        rows: list[list[tuple[int, ...]]] = []
        for sentence, (tree, target) in enumerate(zip(trees, segmentations, strict=True)):
            if tree is None or target is None:
                rows.append([])
            elif tree.segments != len(target):
                raise UserError(
                    f"sentence {sentence}: {len(target)} target phrases for the "
                    f"{tree.segments} leaves of {tree}"
                )
            else:
                rows.append(
                    [(*source, *to) for source, to in zip(tree.phrases, target, strict=True)]
                )
        return cls.packed(rows, prefix)

    @classmethod
    def packed(cls, rows: Sequence[Sequence[Sequence[int]]], prefix: int) -> Derivations:
        """From phrases, sentence by sentence, as ``phrases`` gives them."""
        flat = [span for row in rows for span in row]
        return cls(
            np.array(flat, dtype=np.int32).reshape(-1, 4),
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            prefix,
        )

    @classmethod
    @torch.inference_mode()
    def collect(
        cls,
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
    ) -> Derivations:
        """Derivations of a set: the posterior's best trees, and the phrases that translate best.

        A sentence is cut into as many phrases as it and the model allow; or, with a
        ``segment_rate``, into a number drawn from the geometric distribution by ``seed``. The
        posterior's tree may be ``compared`` with so many others, see ``_choose``. A batch has
        ``batch_size`` sentences, or fewer where they are long. Of several ``processes`` with the
        same model each takes its share of the batches, and all get the whole. ``track`` is
        given the batches, and goes through them while it shows how far that is.
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
        own = [np.array(batch) for batch in islice(batches, rank, None, processes)]
        with evaluating(model):
            for positions in track(own, "looking for derivations"):
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
        if processes > 1:  # the share of every other process is empty
            rows = [max(found, key=len) for found in zip(*gather_object([rows]), strict=True)]
        return cls.packed(rows, len(model.config.prefix))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def phrases(self, position: int) -> list[list[int]]:
        """Source start and stop, target start and stop of a sentence's phrases."""
        rows: list[list[int]] = self.spans[self.ends[position] : self.ends[position + 1]].tolist()
        return rows

    def __getitem__(self, position: int) -> tuple[Tree, Segmentation] | None:
        """The tree and the target phrases of a sentence; nothing if it has none."""
        position = range(len(self))[position]
        rows = self.phrases(position)
        if not rows:
            return None
        tree = Tree.from_phrases([(start, stop) for start, stop, _, _ in rows])
        return tree, [(start, stop) for _, _, start, stop in rows]

    def save(self, path: str | Path) -> None:
        """Write to a file of safetensors."""
        prefix = np.array([self.prefix], dtype=np.int64)
        save_file({"spans": self.spans, "ends": self.ends, "prefix": prefix}, path)

    @classmethod
    def load(cls, path: str | Path) -> Derivations:
        """Read what ``save`` wrote."""
        try:
            arrays = load_file(path)
            return cls(arrays["spans"], arrays["ends"], int(arrays["prefix"][0]))
        except (OSError, SafetensorError, KeyError) as error:
            raise UserError(f"{path}: no derivations can be read: {error}") from error


def _choose(
    model: BTGSeq2Seq, parsers: Parsers, noise: Noise, compared: int, boundary_threshold: float
) -> Tensor:
    """Source and target phrases in target order, ``[batch, phrases, 4]``.

    Of the posterior's best tree and ``compared`` others with a boundary moved, the one whose
    phrases translate each other best, in both directions, is taken; and along it the target phrases
    that the seq2seq model finds most probable. The parsers say where to look. They are not asked
    for the answer, which they would learn from again: mistakes would confirm themselves.
    """
    pair, limit = parsers.pair, parsers.limit
    batch, count = len(pair.states), 1 + compared
    best = parsers.posterior.argmax
    first = (noise.uniforms(0, 1)[:, 0] * 2**20).long()
    limits = parsers.posterior.limits
    others = [one_boundary_moved(best, first + n, limits) for n in range(compared)]
    trees = TreeBatch.interleaved([best, *others])
    several = pair.repeat(count)
    leaves = LeafCRF(several.leaf_scores, several.target.lengths, trees, limit)
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
