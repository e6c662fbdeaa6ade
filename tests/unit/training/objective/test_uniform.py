"""The uniform phase: phrases are learned, the parsers are not."""

import pytest
import torch
from tiny_objectives import output_at, tiny_model


@pytest.mark.parametrize(("estimator", "both"), [("robust", True), ("paper", False)])
def test_only_phrases_are_learned(estimator, both):
    model = tiny_model()
    output = output_at(model, estimator=estimator, uniform_steps=10, flat_weight=0.0)
    assert ("reverse" in output.terms) == both
    assert not {"parsing", "divergence"} & output.terms.keys()
    parsers = [model.prior.output, model.posterior.output, model.leaves.output]
    found = torch.autograd.grad(output.loss, parsers, allow_unused=True)
    assert all(gradient is None or not gradient.any() for gradient in found)


def test_the_reverse_direction_is_weighted():
    terms = output_at(tiny_model(), step=1, uniform_steps=10, reverse_weight={0: 0.0, 4: 2.0}).terms
    torch.testing.assert_close(terms["cut_loss"], terms["phrases"] + 0.5 * terms["reverse"])
