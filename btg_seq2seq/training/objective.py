"""From a batch to its loss: whole sentences, and one cut into phrases, for every sentence.

Sum and sample over the number of phrases: n = 1 always, and one n > 1 drawn for each sentence. The
terms for n > 1 come from an estimator; here are the paper's (section on learning) and the one for
given derivations. All terms are logged by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.model.transducer import BTGSeq2Seq, BTGSeq2SeqOutput, Pair, Reading
from btg_seq2seq.training.derivation import Derivation, Parsers, draw_segments, most_segments
from btg_seq2seq.training.robust import robust_terms
from btg_seq2seq.training.settings import ObjectiveSettings

Terms = dict[str, Tensor]  # each [batch]; those in ``losses`` add up to the loss of n > 1


class BTGObjective:
    """The loss of ``BTGSeq2Seq``, divided by the number of target tokens."""

    def __init__(self, settings: ObjectiveSettings | None = None) -> None:
        self.settings = settings or ObjectiveSettings()

    def __call__(
        self,
        model: BTGSeq2Seq,
        reading: Reading,
        trees: Sequence[Tree | str] | None = None,
        segmentations: Sequence[Segmentation] | None = None,
    ) -> BTGSeq2SeqOutput:
        """The loss of a batch and the means of its terms."""
        settings = self.settings
        tokens = reading.target_tokens.sum()
        flat = -reading.flat_log_prob
        weight = torch.ones_like(flat)  # a sentence without trees trains flat, with all its weight
        terms: Terms = {}
        loss = flat.new_zeros(())
        if reading.pair is not None and settings.flat_weight < 1:
            pair, rows = reading.pair, reading.rows
            if settings.estimator == "gold":
                gold = _gold(trees, segmentations, rows.tolist())
                terms = gold_terms(model, pair, *gold)
            else:
                terms = ESTIMATORS[settings.estimator](model, pair, settings)
            cut = (terms.pop("segments") > 1).to(flat.dtype)
            weight[rows] = 1 - (1 - settings.flat_weight) * cut
            loss = ((1 - weight[rows]) * terms["loss"]).sum()
        loss = (loss + (weight * flat).sum()) / tokens
        means = {name: term.detach().mean() for name, term in terms.items()}
        means |= {"flat": flat.detach().sum() / tokens}
        return BTGSeq2SeqOutput(loss=loss, terms=means)


def _gold(
    trees: Sequence[Tree | str] | None,
    segmentations: Sequence[Segmentation] | None,
    rows: list[int],
) -> tuple[list[Tree], list[Segmentation]]:
    """The gold derivations of the sentences that the grammar holds."""
    if trees is None or segmentations is None:
        raise ValueError(
            "the estimator 'gold' needs trees and segmentations with every batch; "
            "without them, use 'robust' or 'paper'"
        )
    chosen = [trees[row] for row in rows]
    parsed = [Tree.parse(tree) if isinstance(tree, str) else tree for tree in chosen]
    return parsed, [segmentations[row] for row in rows]


def paper_terms(model: BTGSeq2Seq, pair: Pair, settings: ObjectiveSettings) -> Terms:
    """The paper's lower bound: score-function gradients, exact KL and leaf entropy.

    The reward of a derivation is ``log p(leaves | x, tree)``; for the tree's gradient the entropy
    of its leaves is added. Rewards are compared with a baseline, which leaves them unbiased.
    """
    segments = draw_segments(most_segments(model, pair), settings.segment_rate)
    parsers = Parsers.of(model, pair, segments)
    samples = [Derivation.sample(model, parsers) for _ in range(settings.samples)]
    entropies = [sample.leaves.entropy for sample in samples]
    leaf_rewards = torch.stack([sample.log_prob for sample in samples]).detach()
    tree_rewards = leaf_rewards + torch.stack(entropies).detach()
    if settings.baseline == "self-critical":
        best = Derivation.best(model, parsers)
        leaf_baseline = best.log_prob.expand_as(leaf_rewards)
        tree_baseline = leaf_baseline + best.leaves.entropy.detach()
    else:
        leaf_baseline, tree_baseline = map(_mean_of_others, (leaf_rewards, tree_rewards))
    phrases, surrogate, entropy = (torch.zeros_like(leaf_rewards[0]) for _ in range(3))
    for index, sample in enumerate(samples):
        tree_gain = settings.reward_scale * (tree_rewards - tree_baseline)[index]
        leaf_gain = settings.reward_scale * (leaf_rewards - leaf_baseline)[index]
        phrases = phrases + sample.log_prob / len(samples)
        entropy = entropy + entropies[index] / len(samples)
        score = tree_gain * parsers.posterior.log_prob(sample.trees)
        score = score + leaf_gain * sample.leaves.log_prob(sample.segmentations)
        surrogate = surrogate + score / len(samples)
    divergence = parsers.posterior.kl(parsers.prior)
    loss = settings.kl_weight * divergence - phrases - surrogate
    return {
        "loss": loss - settings.entropy_weight * entropy,
        "phrases": -phrases,
        "divergence": divergence,
        "leaf_entropy": entropy,
        "tree_entropy": parsers.posterior.entropy.detach(),
        "reward_deviation": (leaf_rewards - leaf_baseline).abs().mean(0),
        "segments": segments,
    }


def _mean_of_others(rewards: Tensor) -> Tensor:
    """For each of ``[samples, batch]``, the mean of the others."""
    return (rewards.sum(0) - rewards) / (len(rewards) - 1)


def gold_terms(
    model: BTGSeq2Seq,
    pair: Pair,
    trees: Sequence[Tree],
    segmentations: Sequence[Segmentation],
) -> Terms:
    """Train on given derivations: an upper bound, and a way to find out what does not work."""
    segments = torch.tensor([tree.segments for tree in trees], device=pair.states.device)
    parsers = Parsers.of(model, pair, segments)
    gold = Derivation.given(model, parsers, trees, segmentations)
    prior = -parsers.prior.log_prob(gold.trees)
    posterior = -parsers.posterior.log_prob(gold.trees)
    leaves = -gold.leaves.log_prob(gold.segmentations)
    return {
        "loss": prior + posterior + leaves - gold.log_prob,
        "phrases": -gold.log_prob,
        "prior": prior,
        "posterior": posterior,
        "leaves": leaves,
        "segments": segments,
    }


Estimator = Callable[[BTGSeq2Seq, Pair, ObjectiveSettings], Terms]
ESTIMATORS: dict[str, Estimator] = {"paper": paper_terms, "robust": robust_terms}
