"""The registry of systems."""

from dataclasses import replace

from checks import refused

from btg_seq2seq.tasks.systems import BASELINE, SYSTEMS, find_system, register_system
from btg_seq2seq.training.settings.config import known_fields


def test_systems_change_fields_that_exist():
    known = known_fields()
    for name, system in SYSTEMS.items():
        assert system.name == name
        assert [field for field in system.changes if field not in known] == []
    assert next(iter(SYSTEMS)) == BASELINE


def test_names():
    assert find_system("taught").title
    with refused("there is no system 'tought'", "taught"):
        find_system("tought")
    register_system(SYSTEMS["taught"])
    with refused("another system"):
        register_system(replace(SYSTEMS["taught"], title="other"))
