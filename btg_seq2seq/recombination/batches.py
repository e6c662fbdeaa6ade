"""Recombination during training: in most steps, sentences make way for recombined ones.

From a step on, the model's own derivations of the training set are collected, again and again as
they get better; or those of a teacher are taken, once. In a share of the steps a batch is replaced
by sentences recombined from them: they are learned whole, as cheap as plain training, and in some
steps with the derivations that they were made by, which costs far less than to look for
derivations. What is made is a function of the seed and the step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.recombination.collect import Track, collect_derivations, untracked
from btg_seq2seq.recombination.recombine import Recombiner, Tries
from btg_seq2seq.recombination.settings import BOUNDARY_THRESHOLD, RecombinationConfig
from btg_seq2seq.text import Collator, EncodedBitext
from btg_seq2seq.text.batches import WINDOW_BATCHES
from btg_seq2seq.text.units import WordJoins

DERIVATIONS_FILE = "derivations.safetensors"
COUNTS_FILE = "recombination.json"


class RecombinedBatches:
    """Replaces sentences of batches; made for one training set.

    Args:
        config: when and how much.
        examples: the training set.
        excluded: sources, as ``input_ids``, that must never be made.
        joins: tokens within words, see ``text.units``.
        pad: the padding token.
        seed: of what is drawn.
        size: ``batch_size`` or ``batch_tokens`` of all processes together, as ``BucketSampler``
            takes it.
        boundary_threshold: the objective's, for collecting derivations.
        accumulated: batches of an update, where gradients are accumulated.
        processes, rank: of how many processes this is which.
        track: shows how far the collecting of derivations is.
        unit_table: that of the model, see ``text.units``.
        teach: returns a teacher's derivations of the examples, to be taken instead of the model's.
    """

    def __init__(
        self,
        config: RecombinationConfig,
        examples: EncodedBitext,
        excluded: Container[Sequence[int]],
        joins: WordJoins,
        pad: int,
        seed: int,
        size: Mapping[str, int],
        boundary_threshold: float = BOUNDARY_THRESHOLD,
        accumulated: int = 1,
        processes: int = 1,
        rank: int = 0,
        track: Track = untracked,
        unit_table: Tensor | None = None,
        teach: Callable[[], DerivationCorpus] | None = None,
    ) -> None:
        self.teach = teach
        self.config, self.examples, self.seed = config, examples, seed
        self.size, self.accumulated = size, accumulated
        self.boundary_threshold = boundary_threshold
        self.processes, self.rank, self.track = processes, rank, track
        self.excluded, self.joins, self.unit_table = excluded, joins, unit_table
        self.collate = Collator(pad)
        self.derivations: DerivationCorpus | None = None
        self.recombiner: Recombiner | None = None
        self.earlier = Tries()  # of recombiners before this one
        self._check_size()

    def _check_size(self) -> None:
        """Refuse now what ``BucketSampler`` would refuse when sentences are recombined."""
        (name, budget), *_ = self.size.items()
        longest = int(self.examples.lengths.max()) if name == "batch_tokens" else 1
        # A window of batches is filled until the next sentence does not fit.
        least = longest * self.processes + math.ceil((longest - 1) / WINDOW_BATCHES)
        if budget < least:
            raise UserError(
                f"optimisation.{name}={budget} is too small to recombine sentences of up to "
                f"{longest} tokens in {self.processes} processes: it must be {least} or more"
            )

    def is_due(self, step: int) -> bool:
        """True if derivations must be collected before this step."""
        start = self.config.start
        if start is None or step < start:
            return False
        if self.teach is not None:
            return self.recombiner is None
        return (step - start) % self.config.every == 0

    def collect(self, model: BTGSeq2Seq) -> None:
        """Collect derivations of the training set, and recombine these from now on."""
        if self.teach is not None:
            self._use(self.teach())
            return
        # Once: the parsers then learn what phrases have in common, and are right more often.
        compared = self.config.compared if self.recombiner is None else 0
        self._use(
            collect_derivations(
                model,
                self.examples,
                compared=compared,
                boundary_threshold=self.boundary_threshold,
                seed=self.seed,
                processes=self.processes,
                rank=self.rank,
                track=self.track,
            )
        )

    def _use(self, derivations: DerivationCorpus) -> None:
        self.earlier = self.tries
        self.derivations = derivations
        self.recombiner = Recombiner(
            derivations,
            self.examples,
            self.config.settings,
            self.excluded,
            self.joins,
            self.unit_table,
        )

    @property
    def tries(self) -> Tries:
        """The number of sentences made so far, and of those that were excluded and made again."""
        return self.earlier.plus(self.recombiner.tries) if self.recombiner else self.earlier

    @property
    def logged(self) -> dict[str, float]:
        """The same, once there is something to tell."""
        if self.recombiner is None:
            return {}
        return {"recombined": self.tries.made, "coincidences": self.tries.coincidences}

    def __call__(self, batch: dict[str, Any], update: int, part: int = 0) -> dict[str, Any]:
        """The batch of an update, or of a part of it; or a recombined one in its place.

        Of what is made for all processes together, this one gets its share.
        """
        random = Random(f"{self.seed} {update}")
        if self.recombiner is None or random.random() >= self.config.share:
            return batch
        rows = self.recombiner.batch(self.seed, update * self.accumulated + part, **self.size)
        made = self.collate(rows[self.rank :: self.processes])
        if random.random() >= self.config.derived:
            del made["trees"], made["segmentations"]
            made["flat_only"] = torch.ones_like(made["index"], dtype=torch.bool)
        return made

    def save(self, directory: Path) -> None:
        """Write what a resumed run needs into a checkpoint."""
        if self.derivations is not None:
            self.derivations.save(directory / DERIVATIONS_FILE)
            text = json.dumps(self.tries._asdict())
            (directory / COUNTS_FILE).write_text(text, encoding="utf-8")

    def load(self, directory: Path) -> None:
        """Go on from a checkpoint."""
        if (directory / DERIVATIONS_FILE).exists():
            counts = json.loads((directory / COUNTS_FILE).read_text(encoding="utf-8"))
            self._use(DerivationCorpus.load(directory / DERIVATIONS_FILE))
            self.earlier = Tries(**counts)
