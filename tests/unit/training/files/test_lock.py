"""One run per directory."""

import os
import subprocess
import sys

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.training.files.lock import OWNER_FILE, locked

HOLD = """
import sys, time
from pathlib import Path
from btg_seq2seq.training.files.lock import locked
with locked(Path(sys.argv[1]), print):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(directory):
    """A process that holds the lock of a directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_names_its_process(tmp_path):
    with hold(tmp_path) as process:
        try:
            with (
                pytest.raises(UserError, match=f"in use by process {process.pid} on "),
                locked(tmp_path, print),
            ):
                raise AssertionError
        finally:
            process.kill()


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path):
    with hold(tmp_path) as process:
        process.kill()
    said = []
    with locked(tmp_path, said.append):
        pass
    assert len(said) == 1
    assert f"was locked by process {process.pid} on " in said[0]
    assert "taken over" in said[0]


def test_a_lock_within_a_process(tmp_path):
    with (
        locked(tmp_path, print),
        pytest.raises(UserError, match=f"process {os.getpid()}"),
        locked(tmp_path, print),
    ):
        raise AssertionError
    said = []
    with locked(tmp_path, said.append):
        pass
    assert said == []
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_never_began_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path / "a" / "run", print):
        raise KeyError
    assert not (tmp_path / "a" / "run").exists()


def test_an_unreadable_owner(tmp_path):
    (tmp_path / OWNER_FILE).write_text("[" * 100_000)
    said = []
    with locked(tmp_path, said.append):
        pass
    assert "an unknown process" in said[0]


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(UserError, match="is a file"), locked(tmp_path / "file", print):
        raise AssertionError
    assert (tmp_path / "file").read_text() == "precious"
