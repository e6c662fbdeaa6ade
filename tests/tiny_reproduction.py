"""A task of some sentences, settings of some steps, and a place for its runs."""

from pathlib import Path

from tiny_runs import tiny_bitext

from btg_seq2seq.tasks.data_files import DataFile
from btg_seq2seq.tasks.reproduction.run import Place
from btg_seq2seq.tasks.reproduction.settings import TaskSettings
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.text import Bitext, write_lines

SETTINGS = """
tokenizer: {kind: word}
model: {hidden_size: 16, layers: 1, heads: 2, scorer_width: 8, max_segments: 3}
objective: {flat_weight: 0.5, samples: 2, uniform_steps: 0, taught_share: 1.0}
optimisation: {steps: 6, batch_size: 8, log_every: 2, eval_every: 3, learning_rate: 1e-2, parts: 1,
  warmup: 2, translate_dev: 3, metric: bleu}
pretraining: {optimisation.steps: 3}
dev_sentences: 4
threads: 1
"""
SETS = {"train": ("train", 40), "dev": ("dev", 6), "test": ("test", 6)}


def write_data(directory):
    for name, (split, pairs) in SETS.items():
        bitext = tiny_bitext(split, pairs)
        write_lines(directory / f"{name}.src", bitext.source)
        write_lines(directory / f"{name}.tgt", bitext.target)


def read(directory, seed):
    files = {name: (directory / f"{name}.src", directory / f"{name}.tgt") for name in SETS}
    return {name: Bitext.from_files(*pair) for name, pair in files.items()}


FILES = tuple(DataFile(f"{name}.{side}") for name in SETS for side in ("src", "tgt"))
TASK = Task("tiny", "some sentences", read, FILES, tokenize="none", paper={"seq2seq": 1.0})


def tiny_place(directory: Path, settings: str = SETTINGS, said: list[str] | None = None) -> Place:
    data = directory / "data"
    if not data.exists():
        write_data(data)
    path = directory / "tiny.yaml"
    path.write_text(settings, encoding="utf-8")
    output = directory / "runs"
    say = (lambda line: None) if said is None else said.append
    return Place(data, output, output / "results", TaskSettings(path), quiet=True, say=say)
