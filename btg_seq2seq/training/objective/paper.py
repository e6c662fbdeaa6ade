"""The paper's estimator: a lower bound with score-function gradients.

The reward of a derivation is ``log p(leaves | x, tree)``; for the tree's gradient the entropy of
its leaves is added. Rewards are compared with a baseline, which leaves gradients unbiased. The KL
divergence between the parsers and the leaf entropy are exact.
"""

from __future__ import annotations

import torch
from torch import Tensor

from btg_seq2seq.derivations.batch import DerivationBatch, length_shares
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers, draw_segments, most_segments
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.estimator import Estimator
from btg_seq2seq.training.objective.gold import GivenDerivations
from btg_seq2seq.training.objective.phases import Step
from btg_seq2seq.training.objective.terms import Terms


class PaperEstimator(Estimator):
    """Evidence lower bound of sentences cut into phrases, from sampled derivations."""

    def terms(
        self,
        model: BTGSeq2Seq,
        pair: Pair,
        step: Step,
        noise: Noise,
        given: GivenDerivations | None = None,
    ) -> Terms:
        entropy_weight, settings = step.entropy_weight, step.settings
        segments = draw_segments(
            most_segments(model, pair), settings.segment_rate, noise.uniforms(0, 1)[:, 0]
        )
        parsers = Parsers.of(model, pair, segments)
        draws = range(1, settings.samples + 1)
        samples = [DerivationBatch.sample(model, parsers, noise, draw) for draw in draws]
        entropies = [sample.leaves.entropy for sample in samples]
        leaf_rewards = torch.stack([sample.log_prob for sample in samples]).detach()
        tree_rewards = leaf_rewards + entropy_weight * torch.stack(entropies).detach()
        if settings.baseline == "self-critical":
            best = DerivationBatch.best(model, parsers)
            leaf_baseline = best.log_prob.expand_as(leaf_rewards)
            tree_baseline = leaf_baseline + entropy_weight * best.leaves.entropy.detach()
        else:
            leaf_baseline, tree_baseline = map(_mean_of_others, (leaf_rewards, tree_rewards))
        phrases, surrogate, entropy = (torch.zeros_like(leaf_rewards[0]) for _ in range(3))
        for index, sample in enumerate(samples):
            tree_gain = step.reward_scale * (tree_rewards - tree_baseline)[index]
            leaf_gain = step.reward_scale * (leaf_rewards - leaf_baseline)[index]
            phrases = phrases + sample.log_prob / len(samples)
            entropy = entropy + entropies[index] / len(samples)
            score = tree_gain * parsers.posterior.log_prob(sample.trees)
            score = score + leaf_gain * sample.leaves.log_prob(sample.segmentations)
            surrogate = surrogate + score / len(samples)
        divergence = parsers.posterior.kl(parsers.prior)
        loss = step.kl_weight * divergence - phrases
        loss = loss - (surrogate - surrogate.detach())  # a gradient; its value is not the bound's
        return Terms(
            loss - entropy_weight * entropy,
            segments,
            {
                "phrases": -phrases,
                "divergence": divergence,
                "leaf_entropy": entropy,
                "tree_entropy": parsers.posterior.entropy.detach(),
                "log_posterior": parsers.posterior.log_prob(samples[0].trees).detach(),
                "reward_deviation": (leaf_rewards - leaf_baseline).square().mean(0).sqrt(),
                **length_shares(samples[0].trees.phrases),
            },
        )


def _mean_of_others(rewards: Tensor) -> Tensor:
    """Return, for each of ``[samples, batch]``, the mean of the others."""
    return (rewards.sum(0) - rewards) / (len(rewards) - 1)
