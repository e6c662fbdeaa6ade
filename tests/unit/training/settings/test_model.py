"""Settings of the model of a run, and of its decoding defaults."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.training.settings.model import DecodingConfig, ModelConfig


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"backbone": "a", "init_from": "b"}, "not both"),
        ({"layers": 0}, "model.layers must be 1 or more"),
        ({"dropout": 2.0}, "model.dropout must lie between 0 and 1"),
        ({"position_spread": 0.0}, "model.position_spread must be more than 0"),
        ({"source_language": "de"}, "give both of model.source_language"),
    ],
)
def test_values_that_make_no_sense(fields, message):
    with pytest.raises(UserError, match=message):
        ModelConfig(**fields)


def test_sizes_are_for_random_weights():
    assert ModelConfig(hidden_size=64, layers=2).unused == []
    found = ModelConfig(backbone="t5-small", hidden_size=64, heads=8).unused
    assert found == ["model.hidden_size"]
    assert ModelConfig(init_from="runs/a").pretrained == "runs/a"


def test_the_grammar_is_a_part_of_the_model():
    grammar = ModelConfig(max_segments=7, scorer_width=3).grammar
    assert (grammar.max_segments, grammar.scorer_width) == (7, 3)
    assert not hasattr(grammar, "layers")


def test_decoding_defaults():
    settings = DecodingConfig(flat_weight=0.25, beam_size=2).settings
    assert (settings.flat_weight, settings.beam_size) == (0.25, 2)
