"""The registry of estimators, and one from outside the package."""

from dataclasses import fields

import pytest
import torch
from tiny_objectives import output_at, tiny_model

from btg_seq2seq.errors import UserError
from btg_seq2seq.training import ObjectiveSettings
from btg_seq2seq.training.objective import estimator
from btg_seq2seq.training.objective.estimator import (
    Estimator,
    EstimatorDescription,
    describe_estimator,
    estimator_names,
    register_estimator,
)
from btg_seq2seq.training.objective.terms import Terms
from btg_seq2seq.training.settings.config import config_parser, load_config


class Constant(Estimator):
    """Every sentence has two phrases and a loss of 3."""

    def terms(self, model, pair, step, noise, given=None):
        ones = torch.ones(len(pair.states), dtype=pair.states.dtype)
        return Terms(3 * ones, (2 * ones).long(), {"own": 5 * ones})


@pytest.fixture
def constant(monkeypatch):
    monkeypatch.setattr(estimator, "_REGISTRY", dict(estimator._REGISTRY))
    register_estimator(EstimatorDescription("constant", Constant, "a constant loss"))
    with pytest.raises(UserError, match="there is another estimator of the name 'robust'"):
        register_estimator(EstimatorDescription("robust", Constant, "a constant loss"))


def test_an_estimator_from_outside_works_by_its_name(constant, tmp_path, capsys):
    output = output_at(tiny_model(), estimator="constant", flat_weight=0.0)
    assert output.loss == 3 / 4  # per target token
    assert (output.terms["cut_loss"], output.terms["own"]) == (3, 5)
    (tmp_path / "config.yaml").write_text("output: run\nobjective: {estimator: constant}\n")
    assert load_config(tmp_path / "config.yaml").objective.estimator == "constant"
    arguments = ["--objective.estimator", "constant"]
    assert load_config(tmp_path / "config.yaml", arguments).objective.estimator == "constant"
    config_parser().print_help()
    shown = " ".join(capsys.readouterr().out.split())
    assert "{robust,paper,gold,constant}" in shown
    assert "constant: a constant loss" in shown


def test_an_unknown_name_is_an_error(tmp_path):
    with pytest.raises(UserError, match="'robst' is not one of robust, paper, gold; did you mean"):
        ObjectiveSettings("robst")
    (tmp_path / "config.yaml").write_text("output: run\nobjective: {estimator: papper}\n")
    with pytest.raises(UserError, match=r"config\.yaml: line 2: objective\.estimator: 'papper' .*"):
        load_config(tmp_path / "config.yaml")
    with pytest.raises(UserError, match="'constant' is not one of"):
        ObjectiveSettings("constant")


def test_descriptions_name_settings_that_exist():
    known = {field.name for field in fields(ObjectiveSettings)}
    for name in estimator_names():
        description = describe_estimator(name)
        assert {*description.settings} <= known
        assert isinstance(description.create(), Estimator)


def test_settings_without_effect_are_found():
    assert ObjectiveSettings("paper", turned=0.1, kl_weight=0.5).unused == ["objective.turned"]
    assert ObjectiveSettings("gold", samples=9).unused == ["objective.samples"]
    assert ObjectiveSettings().unused == []
