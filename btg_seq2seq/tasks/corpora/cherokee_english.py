"""Cherokee and English, both ways: the ChrEn corpus, split as in the paper."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from btg_seq2seq.tasks.data_files import pair_files, read_pairs
from btg_seq2seq.tasks.task import Bitexts, Task

LINES = {"train": 11_639, "dev": 1000, "test": 1000}
CHECKSUMS = {
    "dev.chr": "7a3f7da75bfb8f06403fd9f4bf2fc378e2b6183c7c9a7eaadc6972df257728d8",
    "dev.en": "dffafdee460b1c009026a49e2432db3739743f75e8730aa8b452b5b8a3526383",
    "test.chr": "2587883d8d8f9e3bbc0eb3286af741ac7773fda40863a82c26ecac7123c2bfd7",
    "test.en": "74c34ac3da2383e0884de005d1950b0ed0c41f85fc4f0cf06ca6503aa0f3d5f0",
    "train.chr": "42a94da47dbfa2b67be85a5f813a43e2d3b6456d7d2bb94870e278d8e5ce8d70",
    "train.en": "797b1fb523135c61a2021aae7185ce0ba50752df084bff2e7597db6ce69664c7",
}
NAMES = {"chr": "Cherokee", "en": "English"}
PAPER = {
    ("chr", "en"): {
        "seq2seq": 9.1,
        "trivial-align": 7.9,
        "fast-align": 10.3,
        "BTG-1": 11.2,
        "BTG-N": 13.6,
    },
    ("en", "chr"): {
        "seq2seq": 7.8,
        "trivial-align": 6.3,
        "fast-align": 7.5,
        "BTG-1": 9.3,
        "BTG-N": 11.0,
    },
}
MOSES = {"chr": 9.8, "en": 14.5}  # by target; Zhang et al. (2020), cited in the paper


def read(source: str, target: str, directory: Path, seed: int) -> Bitexts:
    """Read the three sets in one direction."""
    sets = {name: (f"{name}.{source}", f"{name}.{target}") for name in LINES}
    return read_pairs(directory, sets)


def _task(source: str, target: str) -> Task:
    return Task(
        name=f"{source}-{target}",
        description=f"{NAMES[source]} to {NAMES[target]}, 11,639 sentence pairs of ChrEn",
        make=partial(read, source, target),
        files=pair_files("chr", "en", LINES, CHECKSUMS),
        config="cherokee-english.yaml",
        paper=PAPER[source, target],
        paper_table=f"Table 1; Moses has {MOSES[target]} (Zhang et al., 2020)",
        tokenize="13a",
        origin="the data released with the paper's code, or github.com/ZhangShiyue/ChrEn (research "
        "use): train, dev and test as train.chr, train.en and so on",
        preprocessing="none; raw, cased text",
    )


TASKS = (_task("chr", "en"), _task("en", "chr"))
