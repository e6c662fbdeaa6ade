"""The uniform phase: phrases are learned from uniformly drawn derivations.

The parsers learn nothing. What they would learn from phrases that mean nothing yet is hard to
unlearn.
"""

from __future__ import annotations

from btg_seq2seq.derivations.batch import DerivationBatch, length_shares
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers, draw_segments, most_segments
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.estimator import Estimator
from btg_seq2seq.training.objective.gold import GivenDerivations, reverse_loss
from btg_seq2seq.training.objective.phases import Step
from btg_seq2seq.training.objective.terms import Terms


class UniformEstimator(Estimator):
    """Log-loss of the phrases of one derivation per sentence, drawn uniformly."""

    def terms(
        self,
        model: BTGSeq2Seq,
        pair: Pair,
        step: Step,
        noise: Noise,
        given: GivenDerivations | None = None,
    ) -> Terms:
        segments = draw_segments(
            most_segments(model, pair), step.settings.segment_rate, noise.uniforms(0, 1)[:, 0]
        )
        parsers = Parsers.uniform(model, pair, segments)
        drawn = DerivationBatch.sample(model, parsers, noise, 1)
        loss = -drawn.log_prob
        logged = {"phrases": loss, **length_shares(drawn.trees.phrases)}
        if step.settings.description.learns_both_directions:
            logged["reverse"] = reverse_loss(model, pair, drawn)
            loss = loss + step.reverse_weight * logged["reverse"]
        return Terms(loss, segments, logged)
