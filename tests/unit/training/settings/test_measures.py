"""Measures: which way is better, and who measures them."""

import pytest

from btg_seq2seq.training.settings.measures import (
    MEASURES,
    Measure,
    greater_is_better,
    measured_by_training,
    needs_translations,
    register_measure,
)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(MEASURES, "wer", Measure("wer", False, "translations"))
    monkeypatch.setitem(MEASURES, "cky_wer", Measure("cky_wer", False, "cky translations"))
    monkeypatch.setitem(MEASURES, "brackets", Measure("brackets", True, "trees"))


@pytest.mark.parametrize(
    ("name", "greater", "by_training", "translations"),
    [
        ("loss", False, True, False),
        ("flat", False, True, False),
        ("cut_loss", False, True, False),  # a term: known by its name
        ("phrases", False, True, False),
        ("wer", False, False, True),
        ("cky_wer", False, False, True),
        ("brackets", True, False, False),
        ("my_own", True, False, True),  # not registered: it may be of translations
    ],
)
@pytest.mark.usefixtures("registered")
def test_kinds(name, greater, by_training, translations):
    assert greater_is_better(name) == greater
    assert measured_by_training(name) == by_training
    assert needs_translations(name) == translations


def test_a_name_is_taken_once():
    register_measure(MEASURES["loss"])
    with pytest.raises(ValueError, match="another measure of the name 'loss'"):
        register_measure(Measure("loss"))
