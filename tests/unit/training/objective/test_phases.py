"""Phases and schedules: what is learned at which step."""

import pytest

from btg_seq2seq.training.objective.phases import (
    Phase,
    Step,
    changes_with_steps,
    first_parser_step,
    learns_trees,
    parsers_have_learned,
    phase_at,
    scheduled,
    teaching_share,
)
from btg_seq2seq.training.settings.objective import ObjectiveSettings

FLAT, UNIFORM, TAUGHT, PARSED = Phase.FLAT, Phase.UNIFORM, Phase.TAUGHT, Phase.PARSED
TAUGHT_2 = {"teacher": "lexical", "taught_steps": 2}


@pytest.mark.parametrize(
    ("settings", "phases"),
    [
        ({}, [PARSED] * 6),
        ({"flat_steps": 2}, [FLAT] * 2 + [PARSED] * 4),
        ({"flat_steps": 2, "uniform_steps": 3}, [FLAT] * 2 + [UNIFORM] * 3 + [PARSED]),
        ({"uniform_steps": 2, "estimator": "gold"}, [PARSED] * 6),  # given from the start
        ({"flat_weight": 1.0, "uniform_steps": 2}, [FLAT] * 6),
        ({"flat_weight": {2: 1.0, 3: 0.5}}, [FLAT] * 3 + [PARSED] * 3),
        (TAUGHT_2, [TAUGHT] * 2 + [PARSED] * 4),
        ({**TAUGHT_2, "teacher": "none"}, [PARSED] * 6),
        (
            {**TAUGHT_2, "flat_steps": 1, "uniform_steps": 1},
            [FLAT, UNIFORM] + [TAUGHT] * 2 + [PARSED] * 2,
        ),
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
    assert (first_parser_step(robust), first_parser_step(gold)) == (5, 2)
    assert [parsers_have_learned(robust, step, 4) for step in (4, 5, 6)] == [False, False, True]
    assert not parsers_have_learned(robust, 6, max_segments=1)


def test_the_teacher_fades_out():
    settings = ObjectiveSettings(teacher="lexical", taught_steps=100, fading_steps=400)
    shares = [teaching_share(settings, step) for step in (0, 99, 100, 200, 400, 500, 900)]
    assert shares == [1.0, 1.0, 1.0, 0.75, 0.25, 0.0, 0.0]
    for start in range(100, 500, 50):  # every stretch has its share
        phases = [phase_at(settings, step) for step in range(start, start + 50)]
        share = phases.count(TAUGHT) / 50
        assert abs(share - teaching_share(settings, start + 25)) < 0.05
        assert {*phases} <= {TAUGHT, PARSED}


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
    changing = {"flat_steps": 1}, {"uniform_steps": 1}, {"turned": {0: 0.3, 1: 0.0}}, TAUGHT_2
    for settings in changing:
        assert changes_with_steps(ObjectiveSettings(**settings))
