"""Decoding defaults: saved beside a model, read back, and those of older models."""

import json
from dataclasses import replace

import pytest
from tiny_translators import translator_of

from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import MANIFEST_FILE
from btg_seq2seq.model.config import BTGSeq2SeqConfig
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.translation.translator import Translator

CHOSEN = DecodingSettings(beam_size=3, flat_weight=0.1, segment_rate=0.2, max_length=None)


@pytest.fixture
def directory(tmp_path):
    """A model saved with decoding defaults of its own."""
    translator = translator_of("word")
    model = BTGSeq2Seq.from_backbone(translator.model.backbone.model.config, translator.tokenizer)
    model.decoding = CHOSEN
    model.save_pretrained(tmp_path)
    translator.tokenizer.save_pretrained(tmp_path)
    return tmp_path


def test_defaults_are_saved_beside_the_model(directory):
    listed = json.loads((directory / MANIFEST_FILE).read_text())["files"]
    assert "decoding.json" in listed
    assert BTGSeq2Seq.from_pretrained(directory).decoding == CHOSEN
    assert Translator.from_pretrained(directory).settings == CHOSEN
    other = replace(CHOSEN, beam_size=7)
    assert Translator.from_pretrained(directory, other).settings == other
    assert (
        not {"flat_weight", "segment_rate"}
        & json.loads((directory / "config.json").read_text()).keys()
    )


def test_models_with_weights_in_their_configuration(directory):
    """As all of them had before there was a decoding.json."""
    (directory / "decoding.json").unlink()
    config = json.loads((directory / "config.json").read_text())
    config |= {"flat_weight": 0.3, "segment_rate": 0.4, "written_by": None}
    (directory / "config.json").write_text(json.dumps(config))
    model = BTGSeq2Seq.from_pretrained(directory)
    assert model.decoding == DecodingSettings(flat_weight=0.3, segment_rate=0.4)
    model.save_pretrained(directory / "again")
    assert "flat_weight" not in json.loads((directory / "again" / "config.json").read_text())
    assert BTGSeq2Seq.from_pretrained(directory / "again").decoding == model.decoding
    config["flat_weight"] = 7
    (directory / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"config\.json: flat_weight must lie between 0 and 1"):
        BTGSeq2Seq.from_pretrained(directory)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ('{"beam_size": 0}', "beam_size must be 1 or more"),
        ('{"beam_size": "5"}', "beam_size must be a whole number"),
        ('{"max_output_ratio": "3"}', "max_output_ratio must be a number"),
        ('{"length_normalised": 1}', "length_normalised must be true or false"),
        ('{"flat_weight": null}', "flat_weight must be a number"),
        ('{"sampling": true}', "there is no decoding setting sampling"),
    ],
)
def test_files_that_hold_something_else(tmp_path, content, message):
    (tmp_path / "decoding.json").write_text(content)
    with pytest.raises(UserError, match=rf"decoding\.json.*{message}"):
        DecodingSettings.load(tmp_path)


def test_a_directory_without_settings_has_the_usual_ones(tmp_path):
    assert DecodingSettings.load(tmp_path) == DecodingSettings()


def test_the_configuration_of_a_model_has_no_decoding_settings():
    with pytest.raises(UserError, match=r"DecodingSettings\(flat_weight=0\.3\)"):
        BTGSeq2SeqConfig(flat_weight=0.3)
