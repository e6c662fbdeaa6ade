"""Files of runs: whatever is there is read, and the rest is noted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_runs import logged, made_up_run, saved

from btg_seq2seq.errors import UserError
from btg_seq2seq.reporting.page import report
from btg_seq2seq.reporting.run_files import read_run, read_runs


def test_a_whole_run(tmp_path):
    run = read_run(made_up_run(tmp_path / "run"))
    assert run.name == "run"
    assert run.train["loss"] == [(100, 5.0), (200, 2.5), (300, 500 / 300), (400, 1.25)]
    assert run.dev["cky_bleu"][-1] == (400, 50.0)
    assert "epoch" not in run.train
    assert run.settings["objective.uniform_steps"] == 100
    assert run.settings["seed"] == 0
    assert (run.last_step, run.planned_steps, run.is_finished) == (400, 400, True)
    assert [start["step"] for start in run.starts] == [0, 200]
    assert run.data == {"train": "600 pairs"}
    assert [example.step for example in run.examples] == [100, 200, 300, 400]
    assert run.examples[0].translation.derivation is None
    assert run.problems == []


def test_a_run_that_has_just_begun(tmp_path):
    run = read_run(made_up_run(tmp_path, finished=False, entries=[], examples=[]))
    assert (run.last_step, run.is_finished, run.train, run.examples) == (0, False, {}, [])


def test_only_metrics(tmp_path):
    """The files of an older version, or copied from elsewhere."""
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    run = read_run(tmp_path)
    assert run.train == {"loss": [(1, 2.0)]}
    assert run.planned_steps is None
    assert run.problems == ["there is no config.yaml"]


def test_what_is_no_run(tmp_path):
    with pytest.raises(UserError, match="neither metrics"):
        read_run(tmp_path)
    with pytest.raises(UserError, match="is no directory"):
        read_run(tmp_path / "nowhere")


def test_damaged_files(tmp_path):
    made_up_run(tmp_path)
    metrics = tmp_path / "metrics.jsonl"
    half = b'{"step": 500, "lo'
    odd = b'[1]\n{"step": "x", "loss": 1}\n{"step": 500, "loss": NaN, "flat": 1e999}\n\xff\n'
    metrics.write_bytes(metrics.read_bytes() + odd + half)
    (tmp_path / "config.yaml").write_text("a: &a [1, 2]\nb: *a\n")
    (tmp_path / "data.json").write_text("nothing")
    examples = [{**line, "tree": 1} for line in saved()] + [{"step": 1}, {"step": 1, "mode": 3}]
    (tmp_path / "examples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in examples))
    run = read_run(tmp_path)
    assert run.last_step == 400
    assert "flat" not in run.train
    assert run.settings == {}
    assert run.problems == [
        "metrics.jsonl: 3 lines cannot be read",
        "config.yaml cannot be read",
        "data.json: 1 line cannot be read",
        "examples.jsonl: 2 examples cannot be read",
    ]
    assert "3 lines cannot be read" in report([run])


def test_no_more_terms_than_can_be_shown(tmp_path):
    many = {f"term{number}": 1.0 for number in range(400)}
    run = read_run(made_up_run(tmp_path, entries=[{"step": 1, "n" * 99: 1.0, **many}]))
    assert len(run.train) == 160
    assert run.problems == ["metrics.jsonl: 241 terms more than a report shows"]


def test_names_tell_runs_apart(tmp_path):
    places = [made_up_run(tmp_path / name) for name in ("a/run", "b/run", "b/other")]
    assert [run.name for run in read_runs(places)] == ["a/run", "b/run", "b/other"]
    assert [run.name for run in read_runs(places[1:])] == ["run", "other"]
    with pytest.raises(UserError, match="given twice"):
        read_runs([str(places[0]), str(places[0])])


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
NAMES = st.sampled_from([*next(logged()), *list(logged())[1], *next(saved())])


@given(st.lists(st.dictionaries(NAMES, JSON, max_size=8), max_size=5), st.data())
def test_made_up_values_give_a_report(tmp_path_factory, entries, data):
    """Any values of known names, and known lines with one value changed."""
    lines = list(saved())
    for line in lines:
        line[data.draw(st.sampled_from(sorted(line)))] = data.draw(JSON)
    settings = {"optimisation": {"metric": data.draw(JSON), "steps": data.draw(JSON)}}
    settings |= {"objective": {"flat_steps": data.draw(JSON)}, "seed": data.draw(JSON)}
    directory = made_up_run(
        tmp_path_factory.mktemp("run"), entries=[*entries, *logged()], examples=lines
    )
    (directory / "config.yaml").write_text(json.dumps(settings))
    assert report([read_run(directory)]).endswith("</html>\n")
