"""Configurations of models: checked, saved and read again."""

import json

import pytest
from tiny_models import tiny_config
from transformers import AutoConfig, T5Config

from btg_seq2seq.model.config import BTGSeq2SeqConfig, check_model, open_btg_config


def test_saved_and_read(tmp_path):
    config = BTGSeq2SeqConfig(tiny_config("t5"), max_segments=3, max_phrase_length=None)
    config.save_pretrained(tmp_path)
    for found in (open_btg_config(tmp_path), AutoConfig.from_pretrained(tmp_path)):
        assert isinstance(found, BTGSeq2SeqConfig)
        assert (found.max_segments, found.max_phrase_length) == (3, None)
        assert found.backbone.d_model == config.backbone.d_model
        assert found.suffix == [config.backbone.eos_token_id]


def test_frames_of_the_target_default_to_those_of_the_source():
    config = BTGSeq2SeqConfig(prefix=[3], suffix=[4, 5], reverse_suffix=[6])
    assert (config.reverse_prefix, config.reverse_suffix) == ([3], [6])
    assert BTGSeq2SeqConfig().suffix == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_segments": 0}, "max_segments must be 1 or more"),
        ({"max_segments": 1.5}, "max_segments must be a whole number, 1 or more"),
        ({"max_phrase_length": 0}, "max_phrase_length"),
        ({"phrase_encoding": "neither"}, "phrase_encoding must be one of alone, sentence, both"),
        ({"share_scorers": 1}, "share_scorers must be true or false"),
        ({"flat_weight": 0.5}, "flat_weight is a decoding setting"),
        ({"segment_rate": 0.5}, "segment_rate is a decoding setting"),
        ({"prefix": "x"}, "prefix must be a list of tokens"),
        ({"suffix": [0.5]}, "suffix must be a whole number"),
        ({"backbone": {"model_type": "nonsense"}}, "backbone.model_type is 'nonsense'"),
    ],
)
def test_values_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        BTGSeq2SeqConfig(**settings)


def test_directories_without_a_model(tmp_path):
    with pytest.raises(ValueError, match="no such directory"):
        check_model(tmp_path / "missing")
    with pytest.raises(ValueError, match=r"no config\.json in it$"):
        check_model(tmp_path)
    (tmp_path / "config.yaml").write_text("seed: 0")
    with pytest.raises(ValueError, match="unfinished: go on with btg train --resume"):
        check_model(tmp_path)
    T5Config().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"a model of kind t5.*model\.backbone"):
        open_btg_config(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "btg_seq2seq", "prefix": 1}))
    with pytest.raises(ValueError, match="prefix must be a list of tokens"):
        open_btg_config(tmp_path)
