"""The robust estimator: importance-weighted trees that must explain both sides.

Ours, in place of the paper's score-function gradients. Several trees are drawn for each sentence,
half of them from the posterior and half with boundaries moved. A tree is scored by the prior, by
the target summed over its segmentations and, because a source token in the wrong phrase would
otherwise cost nothing, by the source phrases given the target phrases. Self-normalised weights turn
the scores into a better posterior, to which prior, posterior and seq2seq are fitted.
"""

from __future__ import annotations

import torch
from torch import Tensor

from btg_seq2seq.grammar import LeafCRF, SegmentationBatch, TreeBatch, splits
from btg_seq2seq.grammar.descent import Chooser
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq, Pair
from btg_seq2seq.training.derivation import Parsers, draw_segments, length_shares, most_segments
from btg_seq2seq.training.noise import Noise
from btg_seq2seq.training.proposals import moved_leaves, moved_trees
from btg_seq2seq.training.segmentations import SegmentationSum
from btg_seq2seq.training.settings import Step


def robust_terms(model: BTGSeq2Seq, pair: Pair, step: Step, noise: Noise) -> dict[str, Tensor]:
    """Losses ``[batch]`` from importance-weighted trees, and what to log."""
    batch, samples = len(pair.states), step.settings.samples
    segments = draw_segments(
        most_segments(model, pair), step.settings.segment_rate, noise.uniforms(0, 1)[:, 0]
    )
    # Every sentence `samples` times in a row; even draws from the posterior, odd ones moved.
    several = pair.repeat(samples)
    parsers = Parsers.of(model, several, segments.repeat_interleave(samples))
    with torch.no_grad():
        numbers = noise.repeat(samples)
        trees, proposal = _draw_trees(parsers, samples, numbers)
        targets, log_sum = _draw_targets(model, pair, parsers, trees, step, numbers)
        pairs = PhrasePairs.forward(trees, targets)
        backward = model.phrase_log_probs(several, pairs.reverse(), reverse=True).sum(1)
        score = parsers.prior.log_prob(trees) + log_sum + step.reverse_weight * backward
        weights = (score - proposal).view(batch, samples).softmax(1)  # [batch, samples]
        chosen = Chooser(noise.uniforms(3, 1))(weights.log())
        chosen = chosen + torch.arange(batch, device=chosen.device) * samples
    # The parsers learn from every draw, the seq2seq model from one, drawn by weight.
    log_posterior = parsers.posterior.log_prob(trees)
    fit = parsers.prior.log_prob(trees) + log_posterior
    fit = fit + parsers.leaves(trees).log_prob(targets)
    parsing = -(weights * fit.view(batch, samples)).sum(1)
    picked = pairs[chosen]
    phrases = -model.phrase_log_probs(pair, picked).sum(1)
    reverse = -model.phrase_log_probs(pair, picked.reverse(), reverse=True).sum(1)
    return {
        "loss": phrases + step.reverse_weight * reverse + parsing,
        "phrases": phrases,
        "reverse": reverse,
        "parsing": parsing,
        "log_posterior": log_posterior.detach()[chosen],
        "effective_samples": 1 / weights.square().sum(1),
        "tree_entropy": parsers.posterior.entropy.detach().view(batch, samples)[:, 0],
        "segments": segments,
        **length_shares(picked.others),
    }


def _draw_trees(parsers: Parsers, samples: int, noise: Noise) -> tuple[TreeBatch, Tensor]:
    """A tree a row, by turns from the posterior and moved, and its density under the mixture."""
    nearby = moved_trees(parsers.posterior, parsers.limit)
    draw = torch.arange(len(noise.keys), device=noise.keys.device) % samples
    is_moved = draw % 2 == 1
    uniforms = noise.uniforms(1, 2 * parsers.posterior.sizes.largest)
    trees = _merge_trees(
        is_moved, nearby.sample(uniforms=uniforms), parsers.posterior.sample(uniforms=uniforms)
    )
    return trees, _mixture(parsers.posterior.log_prob(trees), nearby.log_prob(trees), is_moved)


def _draw_targets(
    model: BTGSeq2Seq, pair: Pair, parsers: Parsers, trees: TreeBatch, step: Step, noise: Noise
) -> tuple[SegmentationBatch, Tensor]:
    """A target segmentation for each tree, and ``log sum over segmentations p(y | x, tree)``.

    For long targets the sum is estimated by the one segmentation that is drawn.
    """
    leaves = parsers.leaves(trees)
    nearby = moved_leaves(leaves, parsers.limit)
    batch, count = len(pair.states), len(trees) // len(pair.states)
    choices = parsers.posterior.sizes.largest
    uniforms = noise.uniforms(2, choices)
    # By turns like the trees, but in another rhythm: all four combinations occur.
    is_moved = torch.arange(len(trees), device=uniforms.device) % count // 2 % 2 == 1
    own, moved = leaves.sample(uniforms=uniforms), nearby.sample(uniforms=uniforms)
    fenceposts = torch.where(is_moved[:, None], moved.fenceposts, own.fenceposts)
    drawn = SegmentationBatch(fenceposts, trees.segments)
    log_sum = -_mixture(leaves.log_prob(drawn), nearby.log_prob(drawn), is_moved)

    is_summed = parsers.pair.target.lengths <= step.settings.summed_length
    rows, others = is_summed.nonzero()[:, 0], (~is_summed).nonzero()[:, 0]
    if len(others):
        pairs = PhrasePairs.forward(trees, drawn)[others]
        log_sum[others] += model.phrase_log_probs(parsers.pair[others], pairs).sum(1)
    if len(rows):
        likely = torch.maximum(_boundary_probabilities(leaves), _boundary_probabilities(nearby))
        likely = likely.scatter(1, fenceposts, 1.0)  # so that every tree has a segmentation
        boundaries = likely.view(batch, count, -1).amax(1) >= step.settings.boundary_threshold
        total = SegmentationSum.of(
            model,
            pair,
            rows // count,
            trees.phrases[rows],
            trees.segments[rows],
            leaves.limits[rows],
            boundaries,
        )
        log_sum[rows] = total.log_sum
        fenceposts[rows] = total.sample(noise.uniforms(4, choices)[rows]).fenceposts
    return drawn, log_sum


def _boundary_probabilities(leaves: LeafCRF) -> Tensor:
    """Probability that phrases meet at each fencepost of the target, ``[rows, target + 1]``."""
    longest = leaves.sizes.longest
    middles = splits(longest)[:, 1].to(leaves.marginals.device).expand_as(leaves.marginals)
    return leaves.marginals.new_zeros(len(leaves.trees), longest + 1).scatter_add(
        1, middles, leaves.marginals
    )


def _mixture(own: Tensor, moved: Tensor, is_moved: Tensor) -> Tensor:
    """Log density of draws of which this share is moved."""
    share = is_moved.double().mean()
    return torch.logaddexp(own + (1 - share).log(), moved + share.log()).to(own.dtype)


def _merge_trees(condition: Tensor, yes: TreeBatch, no: TreeBatch) -> TreeBatch:
    rows = condition[:, None]
    return TreeBatch(
        torch.where(rows[..., None], yes.splits, no.splits),
        torch.where(rows[..., None], yes.leaf_splits, no.leaf_splits),
        torch.where(rows, yes.inverted, no.inverted),
        no.segments,
        no.lengths,
    )
