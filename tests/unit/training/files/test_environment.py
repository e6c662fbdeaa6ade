"""The environment of a run: one line for every start."""

import json

import torch

from btg_seq2seq.training.files.environment import environment, write_environment


def test_versions_and_threads():
    found = environment(torch.device("cpu"))
    assert found["torch"] == torch.__version__.partition("+")[0] or found["torch"]
    assert found["threads"] == torch.get_num_threads()
    assert found["device"] == "cpu"


def test_a_line_for_every_start(tmp_path):
    for step in (7, 0, 4, 9):  # the first is of an older run
        write_environment(tmp_path, step, {"python": "3"})
    lines = (tmp_path / "environment.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": step, "python": "3"} for step in (0, 4, 9)
    ]
