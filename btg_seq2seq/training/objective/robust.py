"""The robust estimator: importance-weighted trees that must explain both sides.

Ours, in place of the paper's score-function gradients. Several trees are drawn for each sentence,
alternately from the posterior and near it, with boundaries moved and nodes turned; one of them may
be a teacher's. A tree is scored by the prior and by the target, summed over its segmentations.
Because a source token in the wrong
phrase would otherwise cost nothing, it is also scored by the source phrases given the target
phrases. Self-normalised weights turn the scores into a better posterior, to which prior, posterior
and seq2seq model are fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.derivations.batch import length_shares
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers, draw_segments, most_segments
from btg_seq2seq.derivations.proposals import moved_leaves, moved_trees
from btg_seq2seq.derivations.segmentation_sum import Leaves, SegmentationSum, likely_boundaries
from btg_seq2seq.grammar import Leaf, LeafCRF, SegmentationBatch, TreeBatch, TreeCRF
from btg_seq2seq.grammar.descent import Chooser
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.estimator import Estimator
from btg_seq2seq.training.objective.gold import GivenDerivations
from btg_seq2seq.training.objective.phases import Step
from btg_seq2seq.training.objective.terms import Terms

MOVED_TARGETS = 0.5  # share of target segmentations drawn with boundaries moved


class RobustEstimator(Estimator):
    """Losses from importance-weighted trees."""

    def terms(
        self,
        model: BTGSeq2Seq,
        pair: Pair,
        step: Step,
        noise: Noise,
        given: GivenDerivations | None = None,
    ) -> Terms:
        batch, samples = len(pair.states), step.settings.samples
        most = most_segments(model, pair)
        segments = draw_segments(most, step.settings.segment_rate, noise.uniforms(0, 1)[:, 0])
        proposed = None
        if given is not None:
            proposed = Proposed.of(given, most)
            segments = torch.where(proposed.is_given, proposed.trees.segments, segments)
        parsers = Parsers.of(model, pair, segments)
        several = pair.repeat(samples)  # every sentence `samples` times in a row, a tree each
        with torch.no_grad():
            draws, proposal = _draw_trees(parsers, samples, step.turned, noise, proposed)
            trees = TreeBatch.interleaved(draws)
            leaves = LeafCRF(several.leaf_scores, several.target.units, trees, parsers.limit)
            numbers = noise.repeat(samples)
            targets, log_sum = _draw_targets(model, pair, several, leaves, step, numbers)
            pairs = PhrasePairs.forward(trees, targets)
            backward = model.phrase_log_probs(several, pairs.reverse(), reverse=True).sum(1)
            score = log_sum + step.reverse_weight * backward
            score = score.view(batch, samples) + _log_probs(parsers.prior, draws)
            reward = score - proposal  # [batch, samples]
            weights = reward.softmax(1)
            chosen = Chooser(noise.uniforms(3, 1))(weights.log())
            picked = pairs[chosen + torch.arange(batch, device=chosen.device) * samples]
        # The parsers learn from every draw, the seq2seq model from one, drawn by weight.
        log_posterior = _log_probs(parsers.posterior, draws)
        fitted = LeafCRF(several.leaf_scores, several.target.units, trees, parsers.limit)
        fit = _log_probs(parsers.prior, draws) + log_posterior
        fit = fit + fitted.log_prob(targets).view(batch, samples)
        parsing = -(weights * fit).sum(1)
        phrases = -model.phrase_log_probs(pair, picked).sum(1)
        reverse = -model.phrase_log_probs(pair, picked.reverse(), reverse=True).sum(1)
        return Terms(
            phrases + step.reverse_weight * reverse + parsing,
            segments,
            {
                "phrases": phrases,
                "reverse": reverse,
                "parsing": parsing,
                "divergence": parsers.posterior.kl(parsers.prior).detach(),
                "tree_entropy": parsers.posterior.entropy.detach(),
                "leaf_entropy": leaves.entropy.detach().view(batch, samples).mean(1),
                "log_posterior": log_posterior.detach().gather(1, chosen[:, None])[:, 0],
                "reward_deviation": reward.std(1, correction=0),
                "effective_samples": 1 / weights.square().sum(1),
                **length_shares(picked.others),
            },
        )


def _log_probs(parser: TreeCRF, draws: Sequence[TreeBatch]) -> Tensor:
    """Return the log-probability of several trees per sentence, ``[batch, samples]``."""
    return torch.stack([parser.log_prob(trees) for trees in draws], 1)


@dataclass(frozen=True)
class Proposed:
    """Trees that a teacher has drawn, for some sentences."""

    trees: TreeBatch
    log_density: Tensor  # [batch]
    is_given: Tensor  # [batch] bool

    @classmethod
    def of(cls, given: GivenDerivations, most: Tensor) -> Proposed:
        """Take the trees with at most this many leaves, ``[batch]``."""
        assert given.log_density is not None
        chosen = [
            tree if tree.segments <= largest else Leaf(0, 1)
            for tree, largest in zip(given.trees, most.tolist(), strict=True)
        ]
        trees = TreeBatch.from_trees(chosen).to(most.device)
        is_given = (trees.segments > 1) & given.log_density.isfinite()
        return cls(trees, given.log_density, is_given)


def _draw_trees(
    parsers: Parsers, samples: int, turned: float, noise: Noise, proposed: Proposed | None = None
) -> tuple[list[TreeBatch], Tensor]:
    """Draw trees alternately from the posterior and near it; the last may be a teacher's.

    Returns the draws and their log density, ``[batch, samples]``.
    """
    nearby = moved_trees(parsers.posterior, turned, parsers.limit)
    choices = 2 * parsers.posterior.sizes.largest
    draws = [
        (nearby if draw % 2 else parsers.posterior).sample(
            uniforms=noise.uniforms(10 + draw, choices)
        )
        for draw in range(samples)
    ]
    if proposed is None:
        own, moved = _log_probs(parsers.posterior, draws), _log_probs(nearby, draws)
        return draws, _mixture(own, moved, samples // 2 / samples)
    # Where phrases are longer than the parsers allow, the proposal is left out.
    is_possible = parsers.posterior.log_prob(proposed.trees.where(proposed.is_given, draws[-1]))
    is_taken = proposed.is_given & is_possible.isfinite()
    draws[-1] = proposed.trees.where(is_taken, draws[-1])
    own, moved = _log_probs(parsers.posterior, draws), _log_probs(nearby, draws)
    others = samples - 1
    density = torch.where(
        is_taken[:, None],
        _mixture(own, moved, others // 2 / others),
        _mixture(own, moved, samples // 2 / samples),
    )
    density[:, -1] = torch.where(is_taken, proposed.log_density.to(density), density[:, -1])
    return draws, density


def _draw_targets(
    model: BTGSeq2Seq, pair: Pair, several: Pair, leaves: LeafCRF, step: Step, noise: Noise
) -> tuple[SegmentationBatch, Tensor]:
    """Draw a target segmentation for each tree.

    Returns the draws and ``log sum over segmentations p(y | x, tree)``, ``[trees]``. For long
    targets the sum is estimated from the drawn segmentation.
    """
    trees, batch = leaves.trees, len(pair.states)
    count = len(trees) // batch
    nearby = moved_leaves(leaves, count, model.config.max_phrase_length)
    choices = int(trees.segments.max())
    uniforms = noise.uniforms(2, choices)
    # At random, not alternately like the trees: the joint density is then a product.
    is_moved = noise.uniforms(5, 1)[:, 0] < MOVED_TARGETS
    own, moved = leaves.sample(uniforms=uniforms), nearby.sample(uniforms=uniforms)
    fenceposts = torch.where(is_moved[:, None], moved.fenceposts, own.fenceposts)
    drawn = SegmentationBatch(fenceposts, trees.segments)
    log_sum = -_mixture(leaves.log_prob(drawn), nearby.log_prob(drawn), MOVED_TARGETS)

    is_summed = several.target.units <= step.settings.summed_length
    rows, others = is_summed.nonzero()[:, 0], (~is_summed).nonzero()[:, 0]
    if len(others):
        pairs = PhrasePairs.forward(trees, drawn)[others]
        log_sum[others] += model.phrase_log_probs(several[others], pairs).sum(1)
    if len(rows):
        likely = likely_boundaries(leaves, nearby, drawn)
        boundaries = likely.view(batch, count, -1).amax(1) >= step.settings.boundary_threshold
        own_leaves = Leaves(
            rows // count, trees.phrases[rows], trees.segments[rows], leaves.limits[rows]
        )
        total = SegmentationSum.of(model, pair, own_leaves, boundaries)
        log_sum[rows] = total.log_sum
        summed = total.sample(noise.uniforms(4, choices)[rows]).fenceposts
        drawn = SegmentationBatch(fenceposts.index_copy(0, rows, summed), trees.segments)
    return drawn, log_sum


def _mixture(own: Tensor, moved: Tensor, share: float) -> Tensor:
    """Return the log density of draws of which this share is moved."""
    if not share:
        return own
    return torch.logaddexp(own + math.log1p(-share), moved + math.log(share))
