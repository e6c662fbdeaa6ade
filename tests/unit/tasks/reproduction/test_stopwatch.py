"""CPU time is added up over pieces, and what was lost is not counted."""

import time

import pytest
from checks import refused

from btg_seq2seq.tasks.reproduction import stopwatch
from btg_seq2seq.tasks.reproduction.stopwatch import Stopwatch


@pytest.fixture
def clock(monkeypatch):
    now = {"seconds": 100.0}
    monkeypatch.setattr(time, "process_time", lambda: now["seconds"])
    assert stopwatch.time is time
    return now


def test_pieces_are_added_up(tmp_path, clock):
    path = tmp_path / "cpu.json"
    with Stopwatch(path).stage("training"):
        clock["seconds"] += 10
    with Stopwatch(path).stage("training") as lap:
        clock["seconds"] += 5
        lap.on_save()
        clock["seconds"] += 1
    with Stopwatch(path).stage("other"):
        clock["seconds"] += 2
    assert Stopwatch(path).seconds == {"training": 16.0, "other": 2.0}


def test_lost_work_is_not_counted(tmp_path, clock):
    path = tmp_path / "cpu.json"

    def stopped():
        with Stopwatch(path).stage("training") as lap:
            clock["seconds"] += 5
            lap.on_save()
            clock["seconds"] += 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert Stopwatch(path).seconds == {"training": 5.0}


def test_a_broken_file(tmp_path):
    (tmp_path / "cpu.json").write_text('{"training": "long"}')
    with refused("cpu.json", "CPU seconds"):
        Stopwatch(tmp_path / "cpu.json")
