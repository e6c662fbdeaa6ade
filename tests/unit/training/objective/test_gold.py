"""Given derivations: the loss is their log-loss, whatever the estimator of other batches."""

import pytest
import torch
from tiny_objectives import GIVEN, INPUT, SEGMENTATIONS, TREES, tiny_model

from btg_seq2seq.derivations.batch import DerivationBatch
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.errors import UserError
from btg_seq2seq.training import BTGObjective, ObjectiveSettings


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_the_derivation(weight):
    model = tiny_model()
    model.objective = BTGObjective(ObjectiveSettings(estimator="gold", flat_weight=weight))
    output = model(**INPUT, **GIVEN)
    reading = model.read(**INPUT)
    flat = -reading.flat_log_prob[0]
    parsers = Parsers.of(model, reading.pair, torch.tensor([2]))
    gold = DerivationBatch.given(model, parsers, [TREES[1]], [SEGMENTATIONS[0]])
    parts = (
        gold.log_prob
        + parsers.prior.log_prob([TREES[1]])
        + parsers.posterior.log_prob([TREES[1]])
        + gold.leaves.log_prob([SEGMENTATIONS[0]])
    )
    expected = (weight * flat - (1 - weight) * parts[0]) / 4
    torch.testing.assert_close(output.loss, expected)


@pytest.mark.parametrize(("estimator", "both"), [("robust", True), ("paper", False)])
def test_given_derivations_are_learned_with_every_estimator(estimator, both):
    model = tiny_model()
    model.objective = BTGObjective(ObjectiveSettings(estimator=estimator))
    terms = model(**INPUT, **GIVEN).terms
    assert {"prior", "posterior", "leaves"} <= terms.keys()
    assert ("reverse" in terms) == both


def test_derivations_must_be_given():
    model = tiny_model().train()
    model.objective = BTGObjective(ObjectiveSettings(estimator="gold"))
    with pytest.raises(UserError, match="the estimator gold needs trees and segmentations"):
        model(**INPUT)
    with pytest.raises(UserError, match="without trees"):
        model(**INPUT, segmentations=GIVEN["segmentations"])
    assert model.eval()(**INPUT).terms.keys() == {"flat", "parsed"}  # a dev set may have none


def test_trees_may_be_printed():
    model = tiny_model()
    model.objective = BTGObjective(ObjectiveSettings(estimator="gold"))
    printed = {**GIVEN, "trees": [str(TREES[1])]}
    assert model(**INPUT, **printed).loss == model(**INPUT, **GIVEN).loss
