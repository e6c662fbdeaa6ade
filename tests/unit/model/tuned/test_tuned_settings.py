"""Tuned settings: saved by mode, used by mode, and checked when they are read."""

import json

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import TUNED_FILE
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights
from btg_seq2seq.model.tuned.tuned_settings import TunedSettings


def test_what_was_saved_is_read(tmp_path):
    assert TunedSettings.load(tmp_path) == TunedSettings()
    weights = RankingWeights(word=0.5)
    tuned = TunedSettings().with_mode("flat", {"weights": weights}, {"before": 1.0})
    tuned = tuned.with_mode("cky", {"flat_weight": 0.25, "max_segments": None}, {})
    tuned.save(tmp_path)
    found = TunedSettings.load(tmp_path)
    settings = DecodingSettings(beam_size=7)
    for mode in ("flat", "cky", "rescored"):
        assert found.apply(settings, mode) == tuned.apply(settings, mode)
    assert found.apply(settings, "flat") == DecodingSettings(beam_size=7, weights=weights)
    assert found.apply(settings, "cky").flat_weight == 0.25
    assert found.apply(settings, "rescored") == settings
    assert found.reports["flat"] == {"before": 1.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "holds a list"),
        ({}, "'modes' and 'reports' must be objects"),
        ({"modes": {"fast": {}}}, "there is no mode 'fast'"),
        ({"modes": {"flat": 1}}, "the settings of flat must be an object"),
        ({"modes": {"flat": {"beam": 1}}}, "there is no decoding setting beam"),
        ({"modes": {"flat": {"beam_size": 0}}}, "beam_size must be 1 or more"),
        ({"modes": {"flat": {"weights": {"word": "x"}}}}, "the weight word must be a number"),
        ({"modes": {"flat": {"weights": 3}}}, "weights must be weights by name"),
        ({"modes": {}, "reports": 1}, "must be objects"),
    ],
)
def test_anything_else_is_refused(tmp_path, content, message):
    (tmp_path / TUNED_FILE).write_text(json.dumps(content))
    with pytest.raises(UserError, match=rf"{TUNED_FILE}.*{message}"):
        TunedSettings.load(tmp_path)
