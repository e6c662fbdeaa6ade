"""From a batch to its loss: every sentence whole, and every sentence cut into phrases once.

Sum and sample over the number of phrases: n = 1 always, and one n > 1 drawn for each sentence. The
terms for n > 1 come from an estimator. All terms are logged by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.model.reading import BTGSeq2SeqOutput, Reading
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.estimator import Estimator
from btg_seq2seq.training.objective.gold import GivenDerivations, GoldEstimator
from btg_seq2seq.training.objective.phases import Phase, Step, changes_with_steps
from btg_seq2seq.training.objective.uniform import UniformEstimator
from btg_seq2seq.training.settings.objective import ObjectiveSettings


class BTGObjective:
    """The loss of ``BTGSeq2Seq``, per target token.

    ``step`` is set by the trainer: phases, schedules and random numbers depend on it.
    ``BTGTrainer`` does so, and ``FollowSteps`` makes any trainer of transformers do so. Without it,
    random numbers are torch's own, and settings that change with the step raise an error.
    """

    def __init__(self, settings: ObjectiveSettings | None = None, seed: int = 0) -> None:
        self.settings = settings or ObjectiveSettings()
        self.seed = seed
        self.step: int | None = None
        self.estimator: Estimator = self.settings.description.create()

    @contextmanager
    def at(self, step: int) -> Iterator[None]:
        """Use another step within a ``with`` block."""
        before, self.step = self.step, step
        try:
            yield
        finally:
            self.step = before

    def now(self, model: BTGSeq2Seq) -> Step:
        """Phase and settings of the current step."""
        return Step.at(self.settings, self.step or 0, model.config.max_segments)

    def needs_trees(self, model: BTGSeq2Seq) -> bool:
        """Return whether sentences are cut into phrases at this step, so the parsers must run."""
        return self.now(model).phase is not Phase.FLAT

    @property
    def learns_reversed(self) -> bool:
        """Gradient of the posterior through the reversed pass."""
        chosen = self.settings.reversed_gradient
        return self.settings.description.learns_reversed if chosen is None else chosen

    def __call__(
        self,
        model: BTGSeq2Seq,
        reading: Reading,
        index: Tensor | None = None,
        trees: Sequence[Tree | str] | None = None,
        segmentations: Sequence[Segmentation] | None = None,
        proposal_log_probs: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
    ) -> BTGSeq2SeqOutput:
        """Compute the loss of a batch and the means of its terms."""
        if model.training and self.step is None and changes_with_steps(self.settings):
            raise UserError(
                "flat_steps, uniform_steps, a teacher and schedules depend on the step: give the "
                "trainer btg_seq2seq.training.FollowSteps() among its callbacks, or set "
                "model.objective.step"
            )
        tokens = reading.target_tokens.sum()
        flat = -reading.flat_log_prob
        if not _is_finite(reading):  # before a parser refuses its scores
            return BTGSeq2SeqOutput(loss=flat.sum() * math.nan, terms={})
        step, rows = self.now(model), reading.rows
        weight = torch.ones_like(flat)  # a sentence without trees trains flat, with all its weight
        loss = flat.new_zeros(())
        is_cut = torch.zeros_like(flat, dtype=torch.bool)
        # A dev set may come without the derivations that training is given.
        lacks_gold = self.settings.description.needs_gold and segmentations is None
        is_flat = step.phase is Phase.FLAT or (lacks_gold and not model.training)
        terms = None
        if reading.pair is not None and not is_flat:
            given = None
            if segmentations is not None:
                given = GivenDerivations.of(trees, segmentations, rows.tolist(), proposal_log_probs)
            elif step.phase is Phase.TAUGHT and model.training:
                raise UserError(
                    f"objective.teacher is {self.settings.teacher}: give trees and segmentations "
                    "with every batch, as btg train does, or set it to none"
                )
            noise = self._noise(index, len(flat), flat.device)[rows]
            estimator = self._estimator(step, given)
            terms = estimator.terms(model, reading.pair, step, noise, given)
            is_cut[rows] = terms.segments > 1
            weight = 1 - (1 - step.flat_weight) * is_cut.to(flat.dtype)
            loss = ((1 - weight[rows]) * terms.loss).sum()
        loss = loss + (weight * flat).sum()
        loss = loss / (tokens if num_items_in_batch is None else num_items_in_batch)
        means = {"flat": flat.detach().sum() / tokens, "parsed": is_cut.to(flat.dtype).mean()}
        if terms is not None and is_cut.any():
            means |= terms.means(is_cut[rows])
        return BTGSeq2SeqOutput(loss=loss, terms=means)

    def _estimator(self, step: Step, given: GivenDerivations | None) -> Estimator:
        """Choose the estimator of a batch: given derivations are learned from, if not proposed."""
        if given is not None and given.log_density is None:
            return GoldEstimator()
        return UniformEstimator() if step.phase is Phase.UNIFORM else self.estimator

    def _noise(self, index: Tensor | None, batch: int, device: torch.device) -> Noise:
        if index is None or self.step is None:
            return Noise.fresh(batch, device)
        return Noise.of(index, self.seed, self.step)


def _is_finite(reading: Reading) -> bool:
    """Return whether all scores and probabilities of a batch are finite."""
    values, pair = [reading.flat_log_prob], reading.pair
    if pair is not None:
        values += [pair.prior_scores, pair.posterior_scores, pair.leaf_scores]
    return all(bool(tensor.isfinite().all()) for tensor in values)
