"""Phases and schedules: what is learned at which step."""

import pytest

from btg_seq2seq.training.objective.phases import (
    Phase,
    Step,
    changes_with_steps,
    first_taught_step,
    learns_trees,
    parsers_are_taught,
    phase_at,
    scheduled,
)
from btg_seq2seq.training.settings.objective import ObjectiveSettings

FLAT, UNIFORM, PARSED = Phase.FLAT, Phase.UNIFORM, Phase.PARSED


@pytest.mark.parametrize(
    ("settings", "phases"),
    [
        ({}, [PARSED] * 6),
        ({"flat_steps": 2}, [FLAT] * 2 + [PARSED] * 4),
        ({"flat_steps": 2, "uniform_steps": 3}, [FLAT] * 2 + [UNIFORM] * 3 + [PARSED]),
        ({"uniform_steps": 2, "estimator": "gold"}, [PARSED] * 6),  # given from the start
        ({"flat_weight": 1.0, "uniform_steps": 2}, [FLAT] * 6),
        ({"flat_weight": {2: 1.0, 3: 0.5}}, [FLAT] * 3 + [PARSED] * 3),
        (
            {"flat_weight": {2: 1.0, 3: 0.5}, "uniform_steps": 5},
            [FLAT] * 3 + [UNIFORM] * 2 + [PARSED],
        ),
    ],
)
def test_the_order_of_phases(settings, phases):
    settings = ObjectiveSettings(**settings)
    assert [phase_at(settings, step) for step in range(6)] == phases
    assert {phase_at(settings, step, max_segments=1) for step in range(6)} == {FLAT}
    assert [Step.at(settings, step).phase for step in range(6)] == phases


def test_when_the_parsers_learn():
    steps = {"flat_steps": 2, "uniform_steps": 3}
    robust, gold = ObjectiveSettings("robust", **steps), ObjectiveSettings("gold", **steps)
    assert (first_taught_step(robust), first_taught_step(gold)) == (5, 2)
    assert [parsers_are_taught(robust, step, 4) for step in (4, 5, 6)] == [False, False, True]
    assert not parsers_are_taught(robust, 6, max_segments=1)


def test_runs_that_learn_no_trees():
    assert learns_trees(ObjectiveSettings(flat_weight={0: 1.0, 9: 0.5}), 2)
    assert not learns_trees(ObjectiveSettings(flat_weight={0: 1.0, 9: 1.0}), 2)
    assert not learns_trees(ObjectiveSettings(), 1)


def test_schedules_are_straight_lines_between_steps():
    schedule = {10: 1.0, 20: 0.5}
    assert [scheduled(schedule, step) for step in (0, 10, 15, 20, 99)] == [1, 1, 0.75, 0.5, 0.5]
    step = Step.at(ObjectiveSettings(flat_weight=schedule, flat_steps=12, uniform_steps=5), 15)
    assert step.flat_weight == 0.75
    assert Step.at(ObjectiveSettings(flat_steps=3), 2).flat_weight == 1


def test_settings_that_depend_on_the_step():
    assert not changes_with_steps(ObjectiveSettings())
    for settings in ({"flat_steps": 1}, {"uniform_steps": 1}, {"turned": {0: 0.3, 1: 0.0}}):
        assert changes_with_steps(ObjectiveSettings(**settings))
