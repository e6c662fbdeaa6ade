"""Batches in sampled tokens: the same sentences, whose words are cut into other tokens.

The tokens of a sentence are a function of the seed, the step and its line, so a resumed run goes on
as if it had not been interrupted. Derivations stay what they were: their phrases begin and end
where they did in the text. Words are the same units in any tokens. In scripts without spaces units
are tokens, so positions are counted again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import Any

from torch import Tensor

from btg_seq2seq.grammar import Segmentation, Span, Tree
from btg_seq2seq.text.batches import IGNORED, Collator
from btg_seq2seq.text.frames import Frame, Frames
from btg_seq2seq.text.subword_sampling import SubwordSampler
from btg_seq2seq.text.units import fenceposts_of


class SampledBatches:
    """Draws other tokens for the sentences of a batch, and counts their derivations in them.

    Args:
        sampler: draws the tokens.
        frames: what the tokenizer puts around sentences.
        unit_table: that of the model, see ``text.units``.
        pad: the padding token.
        seed: seed of the draws.
        max_length: a side with more tokens than this keeps the tokenizer's own.
    """

    def __init__(
        self,
        sampler: SubwordSampler,
        frames: Frames,
        unit_table: Tensor | None,
        pad: int,
        seed: int,
        max_length: int | None = None,
    ) -> None:
        self.sampler, self.frames, self.seed = sampler, frames, seed
        self.unit_table = None if unit_table is None else unit_table.cpu()
        self.longest = math.inf if max_length is None else max_length
        self.collate = Collator(pad)

    def __call__(self, batch: dict[str, Any], step: int, part: int = 0) -> dict[str, Any]:
        """Return the batch of a step, or of a part of it, in other tokens."""
        examples = []
        for row, index in enumerate(batch["index"].tolist()):
            source, target = batch["input_ids"][row], batch["labels"][row]
            source = source[batch["attention_mask"][row].bool()].tolist()
            target = target[target != IGNORED].tolist()
            random = Random(f"{self.seed} {step} {part} {index}")
            example: dict[str, Any] = {}
            phrases: Sequence[Span] = ()
            targets: Segmentation = []
            if "segmentations" in batch:
                tree, targets = batch["trees"][row], batch["segmentations"][row]
                phrases = (Tree.parse(tree) if isinstance(tree, str) else tree).phrases
            example["input_ids"], moved = self._draw(source, self.frames.source, phrases, random)
            if "segmentations" in batch:
                example["tree"] = Tree.from_phrases(_moved(phrases, moved))
            example["labels"], moved = self._draw(target, self.frames.labels, targets, random)
            if "segmentations" in batch:
                example["segmentation"] = _moved(targets, moved)
            examples.append(example)
        return batch | self.collate(examples)

    def _draw(
        self, tokens: list[int], frame: Frame, phrases: Iterable[Span], random: Random
    ) -> tuple[list[int], dict[int, int]]:
        """Draw tokens for one side. Also return where each boundary of its phrases has moved to.

        No drawn token crosses such a boundary.
        """
        start, stop = len(frame.prefix), len(tokens) - len(frame.suffix)
        own = tokens[start:stop]
        boundaries = sorted({boundary for phrase in phrases for boundary in phrase})
        posts = fenceposts_of(self.unit_table, own) if boundaries else []
        cuts = [posts[boundary] for boundary in boundaries]
        pieces = [
            self.sampler(own[first:last], random) for first, last in pairwise([0, *cuts, len(own)])
        ]
        drawn = [token for piece in pieces for token in piece]
        units = {}
        if boundaries:
            units = {post: unit for unit, post in enumerate(fenceposts_of(self.unit_table, drawn))}
        places = list(accumulate(map(len, pieces)))[: len(cuts)]
        is_too_long = len(drawn) + len(frame) > self.longest
        if is_too_long or any(place not in units for place in places):
            return tokens, {boundary: boundary for boundary in boundaries}
        moved = {boundary: units[place] for boundary, place in zip(boundaries, places, strict=True)}
        return [*tokens[:start], *drawn, *tokens[stop:]], moved


def _moved(phrases: Iterable[Span], boundaries: Mapping[int, int]) -> list[Span]:
    return [(boundaries[start], boundaries[stop]) for start, stop in phrases]
