"""Two processes that share every batch learn what one learns alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.text import Bitext, write_lines
from btg_seq2seq.training.run import train

ROOT = Path(__file__).parents[2]


def write_files(directory: Path, name: str, bitext: Bitext) -> dict[str, str]:
    sides = {"source": bitext.source, "target": bitext.target}
    for side, lines in sides.items():
        write_lines(directory / f"{name}.{side}", lines)
    return {f"{name}_{side}": str(directory / f"{name}.{side}") for side in sides}


LAUNCHERS = {
    "torchrun": ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
    "accelerate": ["accelerate.commands.launch", "--cpu", "--num_processes", "2"],
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_two_processes_are_one(tmp_path: Path, launcher: str) -> None:
    """With the robust estimator, recombination, accumulation, evaluations and checkpoints."""
    bitexts = tiny_bitexts()
    config = tiny_config(tmp_path / "one", dropout=0.0, steps=5, accumulate=2, parts=2)
    config.recombination = RecombinationConfig(start=2, share=0.7, every=2)
    assert bitexts.dev is not None
    for name, bitext in (("train", bitexts.train), ("dev", bitexts.dev)):
        for field, path in write_files(tmp_path, name, bitext).items():
            setattr(config.data, field, path)
    config.threads = 1
    config.save(tmp_path)
    one = train(config, quiet=True)

    command = [sys.executable, "-m", *LAUNCHERS[launcher], "-m", "btg_seq2seq.cli.main", "train"]
    command += [str(tmp_path / "config.yaml"), "--output", str(tmp_path / "two")]
    command += ["--optimisation.translate_dev", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as processes:
        try:
            output, errors = processes.communicate(timeout=240)
        finally:
            processes.terminate()  # it ends the two others; killed, it could not
    assert processes.returncode == 0, errors
    assert output.count("model:") == 1  # one of them speaks
    assert one.recombined is not None
    assert one.recombined["made"] > 0
    lines = (tmp_path / "two" / "metrics.jsonl").read_text().splitlines()
    two = [json.loads(line) for line in lines]
    assert len(one.history) == len(two)
    for entry, other in zip(one.history, two, strict=True):
        assert entry == pytest.approx(other, rel=2e-4), entry["step"]
        for name in ("loss", "eval_loss"):
            if name in entry:
                assert entry[name] == pytest.approx(other[name], rel=1e-5), entry["step"]
