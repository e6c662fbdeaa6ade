"""Tuning raises the metric, is repeatable, and its settings are used."""

import pytest
from tiny_translators import SHORT, tokenizer_of, translator_of

from btg_seq2seq import Translator
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights
from btg_seq2seq.model.tuned.tuned_settings import TunedSettings
from btg_seq2seq.tuning.tune import tune

TEXTS = ["the dog saw", "", "das Haus ist klein", "it", "in the garden", "the other dog saw it"]


def fresh():
    """A translator of its own, whose settings may change."""
    model = translator_of("word", scale=2.0).model
    model.decoding, model.tuned = SHORT, TunedSettings()
    return Translator(model, tokenizer_of("word"))


@pytest.fixture
def references():
    """For each text the longest translation that the chart holds: plain ranking never finds it."""
    found = fresh().translate(TEXTS, "cky", nbest=3)
    return [
        max([one, *one.alternatives], key=lambda own: len(own.text.split())).text for one in found
    ]


def test_longer_references_ask_for_a_bonus_per_word(references):
    translator, seen = fresh(), []
    result = tune(
        translator,
        TEXTS,
        references,
        metric="chrf",
        keep=lambda own: seen.append(own.modes[-1].mode),
    )
    assert seen == ["flat", "cky", "rescored"]
    by_mode = {one.mode: one for one in result.modes}
    assert all(one.after >= one.before for one in result.modes)
    assert by_mode["cky"].after > by_mode["cky"].before
    assert by_mode["cky"].settings["weights"].word > 0
    assert by_mode["rescored"].settings["rescoring"] != RankingWeights()
    # The translator uses them, and reports the score that was promised.
    again = tune(translator, TEXTS, references, modes=["cky"], metric="chrf")
    assert again.modes[0].before == pytest.approx(by_mode["cky"].after)
    assert again.modes[0].after >= again.modes[0].before
    assert translator.settings_for("cky").weights == again.modes[0].settings["weights"]
    assert translator.settings_for("cky", beam_size=2).beam_size == 2


def test_the_same_seed_gives_the_same_settings(references):
    one, other = (
        tune(fresh(), TEXTS, references, modes=["cky", "flat"], seed=5, metric="chrf").modes
        for _ in range(2)
    )
    assert [own.mode for own in one] == ["flat", "cky"]
    assert one == other


def test_given_settings_are_kept(references):
    given = {"beam_size": 2, "length_normalised": True, "flat_weight": 0.3}
    result = tune(fresh(), TEXTS, references, modes=["cky"], metric="chrf", **given)
    assert {name: result.modes[0].settings[name] for name in given} == given


def test_given_weights_are_kept(references):
    given = {"weights": RankingWeights(word=0.3), "rescoring": RankingWeights(reverse=0.2)}
    result = tune(fresh(), TEXTS, references, metric="chrf", **given)
    assert [one.mode for one in result.modes] == ["flat", "cky", "rescored"]
    for mode in result.modes:
        assert mode.settings["weights"] == given["weights"]
    assert result.modes[-1].settings["rescoring"] == given["rescoring"]


@pytest.mark.parametrize("mode", ["cky", "rescored"])
def test_sentences_that_are_too_long_for_charts(references, mode):
    result = tune(fresh(), TEXTS, references, modes=[mode], metric="chrf", max_cky_length=2)
    assert result.modes[0].after >= result.modes[0].before


def test_a_flat_model_is_tuned_flat(references):
    translator = fresh()
    translator.model.config.parsers_learned = False
    try:
        result = tune(translator, TEXTS, references, metric="chrf")
    finally:
        translator.model.config.parsers_learned = True
    assert [one.mode for one in result.modes] == ["flat"]
    weights = result.modes[0].settings["weights"]
    assert weights.used <= {"forward", "grammar", "word"}


def test_progress_counts_all_steps(references):
    steps = {}

    def track(items, description):
        for item in items:
            steps[description] = steps.get(description, 0) + 1
            yield item

    tune(fresh(), TEXTS, references, modes=["flat", "rescored"], track=track, metric="chrf")
    assert steps == {"tuning flat": 4, "tuning rescored": 2}


def test_what_is_refused():
    with pytest.raises(UserError, match="1 sources, but 2 targets"):
        tune(fresh(), ["a"], ["b", "c"])
    with pytest.raises(UserError, match="the mode must be one of flat, cky, rescored, not 'fast'"):
        tune(fresh(), ["a"], ["b"], modes=["fast"])
    with pytest.raises(UserError, match="the metric must be one of"):
        tune(fresh(), ["a"], ["b"], metric="ter")
