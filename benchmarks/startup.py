"""The time until a command does anything, in imports of torch and a T5 model.

    python -m benchmarks.startup [--repetitions 5] [--output FILE.json]

Every call is a process of its own; calls are interleaved, and minima are kept. The model is tiny
and has random weights, so that only starting takes time. Exit code 1 if a bar is missed.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import harness
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import train_tokenizer

HEADER = ["process", "seconds", "x imports"]
IMPORTS = "import torch, transformers.models.t5.modeling_t5"
BTG = ("-m", "btg_seq2seq.cli.main")
SENTENCE = "the dog saw"
MOST_SECONDS, MOST_IMPORTS = 0.5, 1.5


def write_model(directory: Path) -> None:
    """A model that translates one sentence, somehow."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer("word", [SENTENCE])
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3)
    for saved in (model, tokenizer):
        saved.save_pretrained(directory)


def process(arguments: Sequence[str], status: int = 0) -> Callable[[], Any]:
    """A call of Python that must end with a status."""

    def call() -> None:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
        if done.returncode != status:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")

    return call


def calls_in(directory: Path) -> dict[str, Callable[[], Any]]:
    """All processes that are compared."""
    write_model(directory / "model")
    (directory / "input.txt").write_text(SENTENCE + "\n")
    (directory / "bad.yaml").write_text("output: run\nmodel: {layer: 3}\n")
    translate = [*BTG, "translate", str(directory / "model"), str(directory / "input.txt")]
    translate += ["--threads", "1"]  # several would wait for each other in a model this small
    return {
        "imports": process(["-c", IMPORTS]),
        "btg translate --help": process([*BTG, "translate", "--help"]),
        "btg train --help": process([*BTG, "train", "--help"]),
        "usage error": process([*translate, "--mode", "ckyy"], status=2),
        "bad YAML": process([*BTG, "train", str(directory / "bad.yaml")], status=2),
        "one line, flat": process([*translate, "--mode", "flat"]),
        "one line, cky": process([*translate, "--mode", "cky"]),
    }


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("startup", __doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "startup")
    with tempfile.TemporaryDirectory() as directory:
        calls = calls_in(Path(directory))
        for call in calls.values():  # compiles kernels, and fills the caches of the system
            call()
        timings = harness.interleaved_minima(calls, seconds=0.0, least=options.repetitions)
    seconds = {name: timing.seconds for name, timing in timings.items()}
    imports = seconds["imports"]
    rows = [[name, f"{took:.2f}", f"{took / imports:.2f}"] for name, took in seconds.items()]
    bars = [
        harness.Bar(name, took, MOST_SECONDS, " s", False)
        for name, took in seconds.items()
        if name != "imports" and not name.startswith("one line")
    ]
    bars += [
        harness.Bar(f"{name}, against imports", seconds[name] / imports, MOST_IMPORTS, "x", False)
        for name in ("one line, flat", "one line, cky")
    ]
    note = (
        f"Whole processes, from the shell's point of view; imports: `python -c '{IMPORTS}'`; a "
        "tiny model of random weights, one thread, kernels cached; fastest of "
        f"{options.repetitions} interleaved calls."
    )
    report = harness.Report("startup", note, HEADER, rows, bars)
    return report.write(options, seconds=seconds)


if __name__ == "__main__":
    sys.exit(main())
