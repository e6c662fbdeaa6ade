"""Messages name what was probably meant, and what a value should have been."""

from typing import Literal

import pytest

from btg_seq2seq.options.wording import choices_of, did_you_mean, refused, shown

FIELDS = ["optimisation.steps", "optimisation.learning_rate", "objective.flat_steps", "seed"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("optimisation.stepps", "optimisation.steps"),
        ("learning-rate", "optimisation.learning_rate"),
        ("model.learning_rate", "optimisation.learning_rate"),
        ("SEED", "seed"),
        ("objective", "objective.flat_steps"),
    ],
)
def test_the_closest_name_is_suggested(word, meant):
    assert did_you_mean(word, FIELDS) == f"; did you mean {meant}?"


def test_nothing_is_suggested_where_nothing_is_similar():
    assert did_you_mean("zzzzz", FIELDS) == ""


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("x", int, "steps: 'x' is not a whole number"),
        ("x", int | None, "steps: 'x' is not a whole number"),
        (1, bool, "steps: 1 is not true or false"),
        (1, str, "steps: 1 is not text; put it in quotes"),
        ("x", float | dict[int, float], "steps: 'x' is not a number or a schedule such as"),
        ("{0:1}", float | dict[int, float], "steps: '{0:1}' needs a space after each colon"),
        ("pape", Literal["paper", "gold"], "steps: 'pape' is not one of paper, gold; did you mean"),
    ],
)
def test_a_refused_value(value, kind, message):
    assert refused("steps", value, kind).startswith(message)


def test_choices_are_those_of_literals_alone():
    assert choices_of(Literal["a", "b"] | None) == ["a", "b"]
    assert choices_of(Literal["a"] | int) == []


def test_long_values_are_cut():
    assert shown("x" * 100) == repr("x" * 60 + "...")
    assert (shown(None), shown(True), shown("a")) == ("null", "true", "'a'")
