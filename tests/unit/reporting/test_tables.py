"""Tables of settings and environments."""

import copy

from made_up_runs import SETTINGS, made_up_run

from btg_seq2seq.reporting.run_files import read_run
from btg_seq2seq.reporting.tables import (
    default_settings,
    environment_section,
    settings_section,
    value_text,
)


def test_settings_other_than_the_defaults(tmp_path):
    text = settings_section([read_run(made_up_run(tmp_path))])
    first = text.partition("<details>")[0]
    assert "objective.uniform_steps" in first
    assert "objective.flat_steps" not in first  # 0 is the default
    assert "objective.flat_steps" in text


def test_settings_that_differ_are_highlighted(tmp_path):
    other = copy.deepcopy(SETTINGS)
    other["seed"] = 7
    other["output"] = "<b>"
    del other["recombination"]
    runs = [
        read_run(made_up_run(tmp_path / name, settings))
        for name, settings in (("a", SETTINGS), ("b", other))
    ]
    text = settings_section(runs)
    first, _, rest = text.partition("<details>")
    names = ("seed", "recombination.start", "output")
    places = [first.index(f">{name}<") for name in names]
    assert places[2] == max(places)  # where files are comes last
    assert "objective.uniform_steps" not in first
    assert rest.count('<tr class="marked">') == 3
    assert "&lt;b&gt;" in first
    assert "No setting differs" in settings_section([runs[0]] * 2)


def test_environment(tmp_path):
    run = read_run(made_up_run(tmp_path))
    text = environment_section([run])
    for part in ("3.11", "2.13.0", "600 pairs", "resumed after step", "200"):
        assert part in text
    run.starts, run.data = [], {}
    assert "not known" in environment_section([run])
    run.settings = {}
    assert "not known" in settings_section([run])


def test_values():
    assert value_text({"0": 1.0}) == '{"0": 1.0}'
    assert value_text(None) == "null"
    assert value_text("text") == "text"
    assert default_settings()["model.layers"] > 0
