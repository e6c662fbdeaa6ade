"""Weights of parsers have a learning rate of their own, and norms do not decay."""

from torch import nn

from btg_seq2seq.training.loop.parameter_groups import parameter_groups
from btg_seq2seq.training.settings.optimisation import OptimisationConfig


def small_model():
    return nn.ModuleDict({name: nn.Linear(2, 2) for name in ("backbone", "prior", "leaves")})


def groups(**settings):
    model = small_model()
    decaying = [name for name, _ in model.named_parameters() if name.endswith("weight")]
    names = {id(weight): name for name, weight in model.named_parameters()}
    return {
        frozenset(names[id(weight)] for weight in group["params"]): (
            group["lr"],
            group["weight_decay"],
        )
        for group in parameter_groups(model, decaying, OptimisationConfig(**settings))
    }


def test_parsers_and_norms_are_apart():
    found = groups(learning_rate=1e-2, parser_learning_rate=1e-3, weight_decay=0.1)
    assert found == {
        frozenset({"backbone.weight"}): (1e-2, 0.1),
        frozenset({"backbone.bias"}): (1e-2, 0.0),
        frozenset({"prior.weight", "leaves.weight"}): (1e-3, 0.1),
        frozenset({"prior.bias", "leaves.bias"}): (1e-3, 0.0),
    }


def test_parsers_learn_like_the_rest_by_default():
    assert {rate for rate, _ in groups(learning_rate=5e-3).values()} == {5e-3}
