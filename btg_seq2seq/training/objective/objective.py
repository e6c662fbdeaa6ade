"""From a batch to its loss: whole sentences, and one cut into phrases, for every sentence.

Sum and sample over the number of phrases: n = 1 always, and one n > 1 drawn for each sentence. The
terms for n > 1 come from an estimator; here are the paper's (section on learning) and the one for
given derivations. All terms are logged by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from btg_seq2seq.derivations.batch import DerivationBatch, length_shares
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers, draw_segments, most_segments
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.reading import BTGSeq2SeqOutput, Pair, Reading
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.robust import robust_terms
from btg_seq2seq.training.settings.objective import ObjectiveSettings, Step

Terms = dict[str, Tensor]  # each [batch]; ``loss`` is that of n > 1


class BTGObjective:
    """The loss of ``BTGSeq2Seq``, divided by the number of target tokens.

    ``step`` is for the trainer to set: schedules and random numbers depend on it. ``BTGTrainer``
    does, and ``FollowSteps`` makes any trainer of transformers do it. Where nobody does, random
    numbers are torch's own, and settings that change with the step are refused.
    """

    def __init__(self, settings: ObjectiveSettings | None = None, seed: int = 0) -> None:
        self.settings = settings or ObjectiveSettings()
        self.seed = seed
        self.step: int | None = None

    @contextmanager
    def at(self, step: int) -> Iterator[None]:
        """Be at another step for a while; then, also after an error, at the same one as before."""
        before, self.step = self.step, step
        try:
            yield
        finally:
            self.step = before

    @property
    def is_flat(self) -> bool:
        """Whether whole sentences have all the weight at this step."""
        return self._now.flat_weight == 1

    @property
    def _now(self) -> Step:
        return Step.at(self.settings, self.step or 0)

    @property
    def learns_reversed(self) -> bool:
        """Whether the posterior's gradient is sent through the reversed pass."""
        chosen = self.settings.reversed_gradient
        return self.settings.estimator != "robust" if chosen is None else chosen

    def __call__(
        self,
        model: BTGSeq2Seq,
        reading: Reading,
        index: Tensor | None = None,
        trees: Sequence[Tree | str] | None = None,
        segmentations: Sequence[Segmentation] | None = None,
        num_items_in_batch: Tensor | int | None = None,
    ) -> BTGSeq2SeqOutput:
        """The loss of a batch and the means of its terms."""
        if model.training and self.step is None and self.settings.changes:
            raise UserError(
                "flat_steps, uniform_steps and schedules need to know the step of training: give "
                "the trainer btg_seq2seq.training.FollowSteps() among its callbacks, or set "
                "model.objective.step"
            )
        tokens = reading.target_tokens.sum()
        flat = -reading.flat_log_prob
        if not _is_finite(reading):  # before a parser refuses its scores
            return BTGSeq2SeqOutput(loss=flat.sum() * math.nan, terms={})
        weight = torch.ones_like(flat)  # a sentence without trees trains flat, with all its weight
        terms: Terms = {}
        loss = flat.new_zeros(())
        step = self._now
        # A dev set may come without the derivations that training is given.
        is_unknown = self.settings.estimator == "gold" and segmentations is None
        is_flat = self.is_flat or (is_unknown and not model.training)
        is_cut = torch.zeros_like(flat, dtype=torch.bool)
        if reading.pair is not None and not is_flat:
            pair, rows = reading.pair, reading.rows
            if self.settings.estimator == "gold" or segmentations is not None:
                gold = _gold(trees, segmentations, rows.tolist())
                terms = gold_terms(model, pair, step, *gold)
            else:
                noise = self._noise(index, len(flat), flat.device)[rows]
                name = "uniform" if step.is_uniform else self.settings.estimator
                terms = ESTIMATORS[name](model, pair, step, noise)
            is_cut[rows] = terms.pop("segments") > 1
            weight = 1 - (1 - step.flat_weight) * is_cut.to(flat.dtype)
            loss = ((1 - weight[rows]) * terms["loss"]).sum()
        loss = loss + (weight * flat).sum()
        loss = loss / (tokens if num_items_in_batch is None else num_items_in_batch)
        means = {"flat": flat.detach().sum() / tokens, "parsed": is_cut.to(flat.dtype).mean()}
        if is_cut.any():
            counted = is_cut[reading.rows]
            means |= {name: term.detach()[counted].mean() for name, term in terms.items()}
        return BTGSeq2SeqOutput(loss=loss, terms=means)

    def _noise(self, index: Tensor | None, batch: int, device: torch.device) -> Noise:
        if index is None or self.step is None:
            return Noise.fresh(batch, device)
        return Noise.of(index, self.seed, self.step)


def _is_finite(reading: Reading) -> bool:
    """Whether nothing that the model says of a batch has overflowed or lost its meaning."""
    said, pair = [reading.flat_log_prob], reading.pair
    if pair is not None:
        said += [pair.prior_scores, pair.posterior_scores, pair.leaf_scores]
    return all(bool(tensor.isfinite().all()) for tensor in said)


def _gold(
    trees: Sequence[Tree | str] | None,
    segmentations: Sequence[Segmentation] | None,
    rows: list[int],
) -> tuple[list[Tree], list[Segmentation]]:
    """The gold derivations of the sentences that the grammar holds."""
    if trees is None or segmentations is None:
        raise UserError(
            "the estimator 'gold' needs trees and segmentations with every batch; "
            "without them, use 'robust' or 'paper'"
        )
    chosen = [trees[row] for row in rows]
    parsed = [Tree.parse(tree) if isinstance(tree, str) else tree for tree in chosen]
    return parsed, [segmentations[row] for row in rows]


def uniform_terms(model: BTGSeq2Seq, pair: Pair, step: Step, noise: Noise) -> Terms:
    """Learn phrases from derivations drawn uniformly; the parsers learn nothing."""
    segments = draw_segments(
        most_segments(model, pair), step.settings.segment_rate, noise.uniforms(0, 1)[:, 0]
    )
    parsers = Parsers.uniform(model, pair, segments)
    drawn = DerivationBatch.sample(model, parsers, noise, 1)
    loss = -drawn.log_prob
    terms = {"phrases": loss, "segments": segments, **length_shares(drawn.trees.phrases)}
    if step.settings.estimator == "robust":
        terms["reverse"] = reverse_loss(model, pair, drawn)
        loss = loss + step.reverse_weight * terms["reverse"]
    return {"loss": loss, **terms}


def paper_terms(model: BTGSeq2Seq, pair: Pair, step: Step, noise: Noise) -> Terms:
    """The paper's lower bound: score-function gradients, exact KL and leaf entropy.

    The reward of a derivation is ``log p(leaves | x, tree)``; for the tree's gradient the entropy
    of its leaves is added. Rewards are compared with a baseline, which leaves them unbiased.
    """
    entropy_weight = step.entropy_weight
    settings = step.settings
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
    return {
        "loss": loss - entropy_weight * entropy,
        "phrases": -phrases,
        "divergence": divergence,
        "leaf_entropy": entropy,
        "tree_entropy": parsers.posterior.entropy.detach(),
        "log_posterior": parsers.posterior.log_prob(samples[0].trees).detach(),
        "reward_deviation": (leaf_rewards - leaf_baseline).square().mean(0).sqrt(),
        "segments": segments,
        **length_shares(samples[0].trees.phrases),
    }


def _mean_of_others(rewards: Tensor) -> Tensor:
    """For each of ``[samples, batch]``, the mean of the others."""
    return (rewards.sum(0) - rewards) / (len(rewards) - 1)


def gold_terms(
    model: BTGSeq2Seq,
    pair: Pair,
    step: Step,
    trees: Sequence[Tree],
    segmentations: Sequence[Segmentation],
) -> Terms:
    """Train on given derivations, such as gold ones: an upper bound, and a way to find errors.

    The robust estimator learns its phrases in both directions here too.
    """
    segments = torch.tensor([tree.segments for tree in trees], device=pair.states.device)
    parsers = Parsers.of(model, pair, segments)
    gold = DerivationBatch.given(model, parsers, trees, segmentations)
    prior = -parsers.prior.log_prob(gold.trees)
    posterior = -parsers.posterior.log_prob(gold.trees)
    leaves = -gold.leaves.log_prob(gold.segmentations)
    # Phrases may be longer than the parsers allow: such a sentence is learned whole.
    possible = (prior + leaves).isfinite()
    prior, posterior, leaves = (
        torch.where(possible, term, 0.0) for term in (prior, posterior, leaves)
    )
    segments = torch.where(possible, segments, 1)
    terms = {"phrases": -gold.log_prob, "prior": prior, "posterior": posterior, "leaves": leaves}
    loss = prior + posterior + leaves - gold.log_prob
    if step.settings.estimator == "robust":
        terms["reverse"] = reverse_loss(model, pair, gold)
        loss = loss + step.reverse_weight * terms["reverse"]
    with torch.no_grad():
        terms["divergence"] = parsers.posterior.kl(parsers.prior)
        terms["tree_entropy"] = parsers.posterior.entropy
        terms["leaf_entropy"] = gold.leaves.entropy
    return {"loss": loss, "segments": segments, **terms, **length_shares(gold.trees.phrases)}


def reverse_loss(model: BTGSeq2Seq, pair: Pair, derivation: DerivationBatch) -> Tensor:
    """Minus the log-probability of the source phrases given the target phrases, ``[batch]``."""
    pairs = PhrasePairs.forward(derivation.trees, derivation.segmentations).reverse()
    return -model.phrase_log_probs(pair, pairs, reverse=True).sum(1)


Estimator = Callable[[BTGSeq2Seq, Pair, Step, Noise], Terms]
ESTIMATORS: dict[str, Estimator] = {
    "paper": paper_terms,
    "robust": robust_terms,
    "uniform": uniform_terms,
}
