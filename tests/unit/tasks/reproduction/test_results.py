"""Results in files."""

from checks import refused
from tiny_reproduction import TASK

from btg_seq2seq.tasks.reproduction.results import (
    Job,
    differences,
    read_result,
    read_results,
    write_result,
)
from btg_seq2seq.tasks.systems import SYSTEMS

RESULT = {"task": "tiny", "system": "taught", "seed": 1, "steps": 6, "parameters": {}}
RESULT |= {"cpu_seconds": {}, "config": {}, "modes": {}}


def test_results_come_back(tmp_path):
    job = Job(TASK, SYSTEMS["taught"], 1)
    assert job.result(tmp_path) == tmp_path / "tiny" / "taught-1.json"
    write_result(job.result(tmp_path), RESULT)
    assert list(read_results(tmp_path, TASK)) == [{"format": 1, **RESULT}]
    assert str(job) == "tiny taught-1"


def test_files_that_are_no_results(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"format": 1, "task": "tiny"}')
    with refused("x.json is no result", "system"):
        read_result(path)
    write_result(path, {**RESULT, "format": 2})
    with refused("format is not 1"):
        read_result(path)


def test_differences_are_named():
    before = {"model": {"layers": 2, "heads": 4}, "seed": 0}
    assert differences(before, before) == []
    now = {"model": {"layers": 3, "heads": 4}, "seed": 0, "new": 1}
    assert differences(before, now) == ["model.layers was 2, is now 3", "new was None, is now 1"]
