"""All runs of a task: what is done is not repeated, and the baseline is compared with."""

from dataclasses import replace

import pytest
from checks import refused
from tiny_reproduction import TASK, tiny_place

from btg_seq2seq.tasks.registry import TASKS, register_task
from btg_seq2seq.tasks.reproduction import reproduce as module
from btg_seq2seq.tasks.reproduction.reproduce import reproduce
from btg_seq2seq.tasks.reproduction.results import Job, read_result, write_result
from btg_seq2seq.tasks.systems import SYSTEMS
from btg_seq2seq.text import write_lines


@pytest.fixture
def task(monkeypatch):
    monkeypatch.setattr(f"{module.__name__}.run_side_by_side", lambda jobs, *_: jobs[-1:])
    task = replace(TASK, config="tiny.yaml")
    register_task(task)
    yield task
    del TASKS[task.name]


def test_runs_comparisons_and_the_page(tmp_path, task):
    said = []
    place, page = tiny_place(tmp_path, said=said), tmp_path / "results.md"
    systems = [SYSTEMS["trivial-align"], SYSTEMS["seq2seq"]]
    reproduce(task, systems, [0], place, page)
    starts = [line for line in said if ": run " in line]
    assert ["seq2seq-0: run 1 of 2" in starts[0], "trivial-align-0: run 2 of 2" in starts[1]]
    result = read_result(Job(task, systems[0], 0).result(place.results))
    assert {"bleu", "chrf"} <= result["comparisons"]["flat"]["p"]["test"].keys()
    text = page.read_text(encoding="utf-8")
    assert "| + Trivial-Align | flat | 0 |" in text
    said.clear()
    reproduce(task, systems, [0], place, page)
    assert [line for line in said if ": run " in line] == []
    assert page.read_text(encoding="utf-8") == text


def test_a_baseline_of_other_settings_is_not_compared_with(tmp_path, task):
    """Also where only other systems are run."""
    place = tiny_place(tmp_path)
    job = Job(task, SYSTEMS["seq2seq"], 0)
    facts = {"task": task.name, "system": "seq2seq", "seed": 0, "steps": 1, "parameters": {}}
    others = {"cpu_seconds": {}, "modes": {}, "config": {"optimisation": {"steps": 1}}}
    write_result(job.result(place.results), facts | others)
    with refused("with other settings"):
        reproduce(task, [SYSTEMS["trivial-align"]], [0], place, tmp_path / "results.md")
    assert not Job(task, SYSTEMS["trivial-align"], 0).directory(place.output).exists()


def test_failures_side_by_side_are_reported(tmp_path, task):
    place = tiny_place(tmp_path)
    systems = [SYSTEMS["seq2seq"], SYSTEMS["taught"]]
    with refused("1 of 2 runs failed (taught-0)"):
        reproduce(task, systems, [0], place, tmp_path / "results.md", at_once=2)


def test_all_runs_are_removed_before_the_first_begins(tmp_path, task, monkeypatch):
    """So the same command goes on without --overwrite, whatever was being done."""
    place = tiny_place(tmp_path)
    systems = [SYSTEMS["seq2seq"], SYSTEMS["taught"]]
    done = [Job(task, system, 0) for system in systems]
    for job in done:
        write_lines(job.directory(place.output) / "trained.json", ["{}"])
        write_lines(job.result(place.results), ["{}"])
    begun = []

    def stopped(job, place):
        begun.append(job)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run", stopped)
    for overwrite in (True, False):
        with pytest.raises(KeyboardInterrupt):
            reproduce(task, systems, [0], place, tmp_path / "results.md", overwrite=overwrite)
        assert not any((job.directory(place.output) / "trained.json").exists() for job in done)
    assert begun == [done[0], done[0]]
