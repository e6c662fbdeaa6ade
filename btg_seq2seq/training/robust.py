"""The robust estimator: importance-weighted derivations that must explain both sides.

Ours, in place of the paper's score-function gradients. Several derivations are drawn for each
sentence, half of them from the posterior and half with boundaries moved. A derivation is scored by
the prior, by the target phrases given the source phrases and, because a source token in the wrong
phrase would otherwise cost nothing, by the source phrases given the target phrases. Self-normalised
weights turn the scores into a better posterior, to which prior, posterior and seq2seq are fitted.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from btg_seq2seq.grammar import SegmentationBatch, TreeBatch
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq, Pair
from btg_seq2seq.training.derivation import Parsers, draw_segments, most_segments
from btg_seq2seq.training.proposals import moved_leaves, moved_trees
from btg_seq2seq.training.settings import ObjectiveSettings


def robust_terms(model: BTGSeq2Seq, pair: Pair, settings: ObjectiveSettings) -> dict[str, Tensor]:
    """Losses ``[batch]`` from importance-weighted derivations, and what to log."""
    batch, samples = len(pair.states), settings.samples
    segments = draw_segments(most_segments(model, pair), settings.segment_rate)
    # Every sentence `samples` times in a row; even draws from the posterior, odd ones moved.
    several = pair.repeat(samples)
    parsers = Parsers.of(model, several, segments.repeat_interleave(samples))
    with torch.no_grad():
        nearby = moved_trees(parsers.posterior)
        is_moved = (torch.arange(batch * samples, device=pair.states.device) % 2).bool()
        trees = _merge_trees(is_moved, nearby.sample(), parsers.posterior.sample())
        leaves = parsers.leaves(trees)
        nearby_leaves = moved_leaves(leaves)
        targets = _merge_targets(is_moved, nearby_leaves.sample(), leaves.sample())
        own = parsers.posterior.log_prob(trees) + leaves.log_prob(targets)
        moved = nearby.log_prob(trees) + nearby_leaves.log_prob(targets)
        proposal = torch.logaddexp(own, moved) - math.log(2)
        pairs = PhrasePairs.forward(trees, targets)
        forward = model.phrase_log_probs(several, pairs).sum(1)
        backward = model.phrase_log_probs(several, pairs.reverse(), reverse=True).sum(1)
        score = parsers.prior.log_prob(trees) + forward + settings.reverse_weight * backward
        weights = (score - proposal).view(batch, samples).softmax(1)  # [batch, samples]
        chosen = torch.multinomial(weights, 1)[:, 0]
        chosen = chosen + torch.arange(batch, device=chosen.device) * samples
    # The parsers learn from every draw, the seq2seq model from one, drawn by weight.
    fit = parsers.prior.log_prob(trees) + parsers.posterior.log_prob(trees)
    fit = fit + parsers.leaves(trees).log_prob(targets)
    parsing = -(weights * fit.view(batch, samples)).sum(1)
    picked = PhrasePairs(pairs.fenceposts[chosen], pairs.others[chosen], pairs.segments[chosen])
    phrases = -model.phrase_log_probs(pair, picked).sum(1)
    reverse = -model.phrase_log_probs(pair, picked.reverse(), reverse=True).sum(1)
    return {
        "loss": phrases + settings.reverse_weight * reverse + parsing,
        "phrases": phrases,
        "reverse": reverse,
        "parsing": parsing,
        "effective_samples": 1 / weights.square().sum(1),
        "tree_entropy": parsers.posterior.entropy.detach().view(batch, samples)[:, 0],
        "segments": segments,
    }


def _merge_trees(condition: Tensor, yes: TreeBatch, no: TreeBatch) -> TreeBatch:
    rows = condition[:, None]
    return TreeBatch(
        torch.where(rows[..., None], yes.splits, no.splits),
        torch.where(rows[..., None], yes.leaf_splits, no.leaf_splits),
        torch.where(rows, yes.inverted, no.inverted),
        no.segments,
        no.lengths,
    )


def _merge_targets(
    condition: Tensor, yes: SegmentationBatch, no: SegmentationBatch
) -> SegmentationBatch:
    fenceposts = torch.where(condition[:, None], yes.fenceposts, no.fenceposts)
    return SegmentationBatch(fenceposts, no.segments)
