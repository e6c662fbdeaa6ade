"""Settings of the grammar, in the model's configuration and in those of a run."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.config import BTGSeq2SeqConfig
from btg_seq2seq.model.grammar_settings import GrammarSettings
from btg_seq2seq.training.settings.config import ModelConfig


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_segments", 0),
        ("max_phrase_length", 0),
        ("max_grammar_length", 1.5),
        ("scorer_width", True),
        ("phrase_encoding", "nowhere"),
        ("share_scorers", 1),
        ("residual_posterior", None),
    ],
)
def test_values_that_make_no_sense(name, value):
    for kind in (GrammarSettings, BTGSeq2SeqConfig):
        with pytest.raises(UserError, match=f"^{name} must be"):
            kind(**{name: value})
    with pytest.raises(UserError, match=f"^model.{name} must be"):
        ModelConfig(**{name: value})


def test_a_run_gives_its_settings_to_the_model():
    given = ModelConfig("somewhere", max_segments=7, phrase_encoding="sentence")
    assert given.backbone == "somewhere"
    assert given.grammar == GrammarSettings(max_segments=7, phrase_encoding="sentence")
