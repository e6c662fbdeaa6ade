"""Batches with the derivations of a teacher: to learn from, and later as proposals.

While the teacher teaches, a share of the sentences of a batch comes with derivations to learn from.
Afterwards its derivations are still proposed to an estimator that takes proposals. A sentence gets
another draw in every epoch. Which one is a function of the seed and the step, so a resumed run
goes on as if it had not been interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import torch

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.grammar import Leaf, Tree
from btg_seq2seq.text.batches import EncodedBitext
from btg_seq2seq.training.objective.phases import Phase, phase_at
from btg_seq2seq.training.settings.objective import ObjectiveSettings

_LEARNED = 100  # the number of the draw that chooses the sentences to be cut
_NONE: Tree = Leaf(0, 1)  # in place of a tree, for a sentence pair without a derivation


class Draws(Protocol):
    """Derivations that a teacher has drawn: ``count`` of them for each sentence pair."""

    @property
    def count(self) -> int:
        """Derivations per sentence pair."""

    def phrases(self, position: int, draw: int) -> Sequence[Sequence[int]]:
        """Phrase pairs ``(i, k, a, c)`` in target order; none if there is no derivation."""

    def log_density(self, position: int, draw: int) -> float:
        """Log-probability of the tree among the teacher's trees with as many leaves."""

    def finest_derivation(self, position: int) -> Derivation | None:
        """The most probable derivation with as many phrases as possible, if there is one."""


class TaughtBatches:
    """Adds a teacher's derivations to the batches of one training set.

    Args:
        settings: when the teacher teaches, and how many of the sentences.
        teach: returns its derivations, by the position of a sentence pair in ``examples``; called
            before the first step that needs them.
        examples: the training set.
        updates_per_epoch: steps of training that go through the whole set.
        seed: seed of all random choices.
        max_segments: that of the model.
    """

    def __init__(
        self,
        settings: ObjectiveSettings,
        teach: Callable[[], Draws],
        examples: EncodedBitext,
        updates_per_epoch: int,
        seed: int,
        max_segments: int,
    ) -> None:
        self.settings, self.teach, self.seed = settings, teach, seed
        self.updates_per_epoch, self.max_segments = updates_per_epoch, max_segments
        self.positions = {index: position for position, index in enumerate(examples.index)}

    @cached_property
    def draws(self) -> Draws:
        """The teacher's derivations."""
        return self.teach()

    def finest(self, prefix: int) -> DerivationCorpus:
        """Collect the derivations with the most phrases, for recombination.

        ``prefix`` is the number of tokens that precede a sentence in ``input_ids``.
        """
        positions = range(len(self.positions))
        return DerivationCorpus.of(map(self.draws.finest_derivation, positions), prefix)

    def __call__(self, batch: dict[str, Any], step: int) -> dict[str, Any]:
        """Return the batch of a step, with derivations if the teacher has a say in it."""
        phase = phase_at(self.settings, step, self.max_segments)
        is_proposed = phase is Phase.PARSED and self.settings.description.takes_proposals
        # Recombined sentences are learned as they were made. Gold trees alone, which are only
        # compared with, do not keep the teacher away.
        is_made = "segmentations" in batch or "flat_only" in batch
        if is_made or not (phase is Phase.TAUGHT or is_proposed):
            return batch
        draw = step // self.updates_per_epoch % self.draws.count
        positions = [self.positions[index] for index in batch["index"].tolist()]
        rows = [self.draws.phrases(position, draw) for position in positions]
        taught = {
            "trees": [
                Tree.from_phrases([(i, k) for i, k, _, _ in row]) if len(row) > 1 else _NONE
                for row in rows
            ],
            "segmentations": [[(int(a), int(c)) for _, _, a, c in row] for row in rows],
        }
        if is_proposed:
            densities = [self.draws.log_density(position, draw) for position in positions]
            return batch | taught | {"proposal_log_probs": torch.tensor(densities)}
        is_cut = torch.tensor([len(row) > 1 for row in rows])
        shares = Noise.of(batch["index"], self.seed, step).uniforms(_LEARNED, 1)[:, 0]
        is_cut &= shares < self.settings.taught_share
        return batch | taught | {"flat_only": ~is_cut}
