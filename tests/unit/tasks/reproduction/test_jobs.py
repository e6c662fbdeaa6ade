"""Runs side by side: all are done, failures are reported, and a stop is passed on."""

import sys

import pytest
from tiny_reproduction import TASK

from btg_seq2seq.tasks.reproduction import jobs
from btg_seq2seq.tasks.reproduction.jobs import run_side_by_side
from btg_seq2seq.tasks.reproduction.results import Job
from btg_seq2seq.tasks.systems import SYSTEMS

JOBS = [Job(TASK, SYSTEMS["taught"], seed) for seed in range(3)]
FAILS_AT_1 = "import sys; print(sys.argv[1:]); sys.exit(sys.argv[sys.argv.index('--seeds')+1]=='1')"
SAVES = """
import signal, sys, time
def save(*_):
    print("saved", flush=True)
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def command(monkeypatch):
    def command(program):
        monkeypatch.setattr(jobs, "COMMAND", (sys.executable, "-c", program))
        monkeypatch.setattr(jobs, "POLL", 0.02)

    return command


def test_all_are_run_and_failures_returned(tmp_path, command):
    command(FAILS_AT_1)
    said = []
    failed = run_side_by_side(JOBS, 2, ["--quiet"], tmp_path, said.append)
    assert failed == [JOBS[1]]
    logs = sorted((tmp_path / "tiny").glob("*.log"))
    assert [path.name for path in logs] == [f"taught-{seed}.log" for seed in range(3)]
    assert "'tiny', '--quiet', '--systems', 'taught', '--seeds', '2'" in logs[2].read_text()
    assert sum("failed" in line for line in said) == 1


def test_a_stop_is_passed_on_and_waited_for(tmp_path, command):
    command(SAVES)
    started = []

    def say(line):
        started.append(line)
        logs = [tmp_path / "tiny" / f"taught-{seed}.log" for seed in range(2)]
        if len(started) == 2:
            while not all("ready" in path.read_text() for path in logs):
                pass
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_side_by_side(JOBS, 2, [], tmp_path, say)
    for seed in range(2):
        assert "saved" in (tmp_path / "tiny" / f"taught-{seed}.log").read_text()
    assert not (tmp_path / "tiny" / "taught-2.log").exists()
