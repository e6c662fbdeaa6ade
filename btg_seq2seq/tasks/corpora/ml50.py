"""Four low-resource languages of the ML50 benchmark to English, from mT5 and mBART-50."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from btg_seq2seq.tasks.data_files import pair_files, read_pairs
from btg_seq2seq.tasks.task import Bitexts, Task

NAMES = {"mn": "Mongolian", "mr": "Marathi", "az": "Azerbaijani", "bn": "Bengali"}
# Table 6 of the paper.
LINES = {
    "mn": {"train": 7607, "dev": 372, "test": 414},
    "mr": {"train": 9840, "dev": 767, "test": 1090},
    "az": {"train": 5946, "dev": 671, "test": 903},
    "bn": {"train": 4649, "dev": 896, "test": 216},
}
CODES = {
    language: {"model.source_language": code}
    for language, code in {"mn": "mn_MN", "mr": "mr_IN", "az": "az_AZ", "bn": "bn_IN"}.items()
}
BACKBONES = {"mt5": "mT5-base", "mbart50": "mBART-50"}
# Table 4 of the paper.
PAPER = {
    ("mn", "mt5"): {"seq2seq": 8.6, "BTG-1": 10.7, "BTG-N": 9.4},
    ("mr", "mt5"): {"seq2seq": 8.5, "BTG-1": 9.6, "BTG-N": 9.5},
    ("az", "mt5"): {"seq2seq": 10.2, "BTG-1": 11.3, "BTG-N": 11.5},
    ("bn", "mt5"): {"seq2seq": 8.4, "BTG-1": 9.6, "BTG-N": 10.3},
    ("mn", "mbart50"): {"seq2seq": 11.2, "BTG-1": 11.5, "BTG-N": 12.1},
    ("mr", "mbart50"): {"seq2seq": 11.6, "BTG-1": 11.2, "BTG-N": 10.9},
    ("az", "mbart50"): {"seq2seq": 15.5, "BTG-1": 15.8, "BTG-N": 15.9},
    ("bn", "mbart50"): {"seq2seq": 13.6, "BTG-1": 12.8, "BTG-N": 12.8},
}


def read(language: str, directory: Path, seed: int) -> Bitexts:
    """Read the three sets of a language."""
    return read_pairs(
        directory, {name: (f"{name}.{language}", f"{name}.en") for name in LINES["mn"]}
    )


def _task(language: str, backbone: str) -> Task:
    return Task(
        name=f"ml50/{language}-en/{backbone}",
        description=f"{NAMES[language]} to English (ML50), from pretrained {BACKBONES[backbone]}",
        make=partial(read, language),
        files=pair_files(language, "en", LINES[language]),
        config=f"ml50-{backbone}.yaml",
        changes=CODES[language] if backbone == "mbart50" else {},
        paper=PAPER[language, backbone],
        paper_table="Table 4",
        tokenize="13a",
        origin="the ML50 benchmark (Tang et al., 2020), from the scripts in examples/multilingual "
        f"of github.com/facebookresearch/fairseq: train.{language}, train.en and so on",
        preprocessing="none; raw, cased text",
    )


TASKS = tuple(_task(language, backbone) for backbone in BACKBONES for language in NAMES)
