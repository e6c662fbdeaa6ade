"""The environment of a run: one line for every start."""

import json
import re
import subprocess

import torch

from btg_seq2seq.training.files import environment as module
from btg_seq2seq.training.files.environment import (
    environment,
    revision,
    timing_facts,
    write_environment,
)


def test_versions_and_threads():
    found = environment(torch.device("cpu"))
    assert found["torch"] == torch.__version__.partition("+")[0] or found["torch"]
    assert found["threads"] == torch.get_num_threads()
    assert found["device"] == "cpu"


def test_facts_of_cpu_times(monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    found = timing_facts()
    assert found["processor"]
    assert found["threads"] == torch.get_num_threads()
    assert "preloaded" not in found
    monkeypatch.setenv("LD_PRELOAD", "/some/library.so")
    assert timing_facts(3).items() >= {"preloaded": True, "threads": 3}.items()
    assert "library" not in str(timing_facts())


def test_the_revision_is_that_of_this_code(tmp_path, monkeypatch):
    def commit(directory, *files):
        commands = (["init", "-q"], ["add", "--", *files], [*identity, "commit", "-qm", "first"])
        for command in commands:
            subprocess.run(["git", "-C", str(directory), *command], check=True)

    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    code = tmp_path / "environment.py"
    code.write_text("first")
    (tmp_path / "other.py").write_text("first")
    monkeypatch.setattr(module, "__file__", str(code))
    assert revision() is None
    commit(tmp_path, "other.py")
    assert revision() is None  # an environment in a checkout of something else
    commit(tmp_path, "environment.py")
    assert re.fullmatch(r"[0-9a-f]{10}", str(revision()))
    code.write_text("second")
    assert str(revision()).endswith("-dirty")
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    assert revision() is None


def test_a_line_for_every_start(tmp_path):
    for step in (7, 0, 4, 9):  # the first is of an older run
        write_environment(tmp_path, step, {"python": "3"})
    lines = (tmp_path / "environment.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": step, "python": "3"} for step in (0, 4, 9)
    ]
