"""Every model has an objective of its own."""

from btg_seq2seq import BTGSeq2Seq
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.objective import default_objective
from btg_seq2seq.training import BTGObjective


def test_every_default_is_a_new_one():
    first, second = default_objective(), default_objective()
    assert isinstance(first, BTGObjective)
    assert first is not second


def test_stepping_one_model_does_not_step_another():
    models = [
        BTGSeq2Seq.from_backbone(default_config(20, hidden_size=8, layers=1, heads=2))
        for _ in range(2)
    ]
    models[0].objective.step = 5
    assert models[1].objective.step is None
