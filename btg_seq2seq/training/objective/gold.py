"""Given derivations: an upper bound, and a way to find errors.

Also used for every batch that comes with derivations, such as those of a teacher or recombined
sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.derivations.batch import DerivationBatch, length_shares
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.estimator import Estimator
from btg_seq2seq.training.objective.phases import Step
from btg_seq2seq.training.objective.terms import Terms


@dataclass(frozen=True)
class GivenDerivations:
    """One tree per sentence pair, and its target phrases.

    With a ``log_density`` they are not learned from, but proposed to an estimator. A tree of one
    leaf stands for a sentence pair without a derivation.
    """

    trees: list[Tree]
    segmentations: list[Segmentation]
    log_density: Tensor | None = None  # [batch]: of each tree among those with as many leaves

    @classmethod
    def of(
        cls,
        trees: Sequence[Tree | str] | None,
        segmentations: Sequence[Segmentation],
        rows: Sequence[int],
        log_density: Tensor | None = None,
    ) -> GivenDerivations:
        """Select the derivations of some rows of a batch; trees may be printed."""
        if trees is None:
            raise UserError("segmentations are given without trees: give both with every batch")
        chosen = [trees[row] for row in rows]
        parsed = [Tree.parse(tree) if isinstance(tree, str) else tree for tree in chosen]
        density = None if log_density is None else log_density[list(rows)]
        return cls(parsed, [segmentations[row] for row in rows], density)


class GoldEstimator(Estimator):
    """Log-loss of given derivations: their phrases, trees and target segmentations."""

    def terms(
        self,
        model: BTGSeq2Seq,
        pair: Pair,
        step: Step,
        noise: Noise,
        given: GivenDerivations | None = None,
    ) -> Terms:
        if given is None:
            raise UserError(
                f"the estimator {step.settings.estimator} needs trees and segmentations with every "
                "batch"
            )
        segments = torch.tensor([tree.segments for tree in given.trees], device=pair.states.device)
        parsers = Parsers.of(model, pair, segments)
        gold = DerivationBatch.given(model, parsers, given.trees, given.segmentations)
        prior = -parsers.prior.log_prob(gold.trees)
        posterior = -parsers.posterior.log_prob(gold.trees)
        leaves = -gold.leaves.log_prob(gold.segmentations)
        # Phrases may be longer than the parsers allow. Such a sentence is learned whole.
        possible = (prior + leaves).isfinite()
        prior, posterior, leaves = (
            torch.where(possible, term, 0.0) for term in (prior, posterior, leaves)
        )
        segments = torch.where(possible, segments, 1)
        loss = prior + posterior + leaves - gold.log_prob
        logged = {
            "phrases": -gold.log_prob,
            "prior": prior,
            "posterior": posterior,
            "leaves": leaves,
        }
        if step.settings.description.learns_both_directions and step.reverse_weight > 0:
            logged["reverse"] = reverse_loss(model, pair, gold)
            loss = loss + step.reverse_weight * logged["reverse"]
        with torch.no_grad():
            logged["divergence"] = parsers.posterior.kl(parsers.prior)
            logged["tree_entropy"] = parsers.posterior.entropy
            logged["leaf_entropy"] = gold.leaves.entropy
        return Terms(loss, segments, {**logged, **length_shares(gold.trees.phrases)})


def reverse_loss(model: BTGSeq2Seq, pair: Pair, derivation: DerivationBatch) -> Tensor:
    """Return the log-loss of source phrases given target phrases, ``[batch]``."""
    pairs = PhrasePairs.forward(derivation.trees, derivation.segmentations).reverse()
    return -model.phrase_log_probs(pair, pairs, reverse=True).sum(1)
