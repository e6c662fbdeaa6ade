"""Recorded runs still give the numbers of ``expected.json``, as far as machines agree.

Two processors differ in the last digits, and training amplifies that: a gradient near zero changes
its sign, a draw falls the other way. So the first steps of a run are compared closely, its end
loosely, and what the trained model says only where the run itself has stayed close.
"""

import json

import pytest
from golden.scenarios import EXPECTED, RUNS, scenarios

FIRST_STEPS = 3
CLOSE, LOOSE = {"rel": 1e-4, "abs": 1e-5}, {"rel": 0.2, "abs": 0.1}
LOG_PROB, CLEARLY_WORSE = 1e-3, 1e-2
COUNTED = ("parsed", "phrases_from")  # shares of a few sentences, which one draw can change
TRANSLATED = ("flat {}", "cky {}", "rules")
SCORED = ("score", "exact score", "align")


@pytest.fixture(scope="module")
def found():
    return scenarios()


@pytest.fixture(scope="module")
def expected():
    return json.loads(EXPECTED.read_text(encoding="utf-8"))


def test_the_same_scenarios_are_recorded(found, expected):
    assert {name: {*part} for name, part in found.items()} == {
        name: {*part} for name, part in expected.items()
    }


@pytest.mark.parametrize("run", RUNS)
def test_runs_begin_alike_and_end_similarly(found, expected, run):
    own, recorded = found["training"][run], expected["training"][run]
    for step, before in zip(own["history"], recorded["history"][:FIRST_STEPS], strict=False):
        assert step == pytest.approx(before, **CLOSE)
    end, before = (
        {name: value for name, value in one["metrics"].items() if not name.startswith(COUNTED)}
        for one in (own, recorded)
    )
    assert end == pytest.approx(before, **LOOSE)


@pytest.mark.parametrize("use", TRANSLATED)
@pytest.mark.parametrize("model", ["random", "tokens", "trained"])
def test_translations(found, expected, model, use):
    skip_if_drifted(model, found, expected)
    for own, recorded in zip(found[model][use], expected[model][use], strict=True):
        assert own["log_prob"] == pytest.approx(recorded["log_prob"], abs=LOG_PROB)
        others = [one["log_prob"] for one in recorded["alternatives"]]
        if others and recorded["log_prob"] - others[0] > CLEARLY_WORSE:
            assert own["text"] == recorded["text"]
            assert own["derivation"]["tree"] == recorded["derivation"]["tree"]


@pytest.mark.parametrize("use", SCORED)
@pytest.mark.parametrize("model", ["random", "tokens", "trained"])
def test_scores_of_given_translations(found, expected, model, use):
    skip_if_drifted(model, found, expected)
    for own, recorded in zip(found[model][use], expected[model][use], strict=True):
        assert log_probs(own) == pytest.approx(log_probs(recorded), abs=LOG_PROB)


def log_probs(score):
    """The numbers of a score; of an alignment, the log-probability of its best derivation."""
    if isinstance(score, dict):
        return [score["log_prob"]]
    return score[:2] if isinstance(score, list) else [score]


def skip_if_drifted(model, found, expected):
    """On another machine, ten steps may lead to another model."""
    own, recorded = (one["training"]["robust"]["metrics"] for one in (found, expected))
    if model == "trained" and own != pytest.approx(recorded, **CLOSE):
        pytest.skip("the trained model differs in more than the last digits on this machine")
