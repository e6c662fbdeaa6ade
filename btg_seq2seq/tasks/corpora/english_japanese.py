"""English to Japanese: word order of real sentences, small enough to train in minutes."""

from __future__ import annotations

from pathlib import Path

from btg_seq2seq.tasks.data_files import pair_files, read_pairs
from btg_seq2seq.tasks.task import Bitexts, Task

LINES = {"train": 10_000, "dev": 500, "test": 500}
CHECKSUMS = {
    "dev.en": "04a2673449770657fd5e3b963cb856be3130923212b6db8ac7eaeef18f06c041",
    "dev.ja": "cd534f56b8639dc130f86a365e5ec0aa70042000bdd740a622fbbf8b6be4acca",
    "test.en": "45edb380749ec2b49cca7618fc5a7595fc9f791180672ba466b90c873a4aa8bf",
    "test.ja": "d37dc460a81b064e4106c8913eb11fa300da05cf3f58a7a5bbfec7e20947ddef",
    "train.en": "4dd6b09e59cc03bd78d5e541bf306ab6e5139e2ce2e12d02d093e0cc47cfcf8e",
    "train.ja": "6090d2bc45563d9d6b2244bf69edeb5cc004dd8aa5ab39469c83574d291ffe15",
}


def read(directory: Path, seed: int) -> Bitexts:
    """Read the three sets."""
    return read_pairs(directory, {name: (f"{name}.en", f"{name}.ja") for name in LINES})


TASKS = (
    Task(
        name="en-ja",
        description="English to Japanese, 10,000 short sentences of the Tanaka corpus",
        make=read,
        files=pair_files("en", "ja", LINES, CHECKSUMS),
        config="en-ja.yaml",
        paper_table="not in the paper",
        tokenize="none",
        origin="github.com/odashi/small_parallel_enja (CC BY): train.en.000 and train.ja.000 as "
        "train.en and train.ja, dev.* and test.* as they are",
        preprocessing="none; both sides are lower-cased and tokenised with spaces as published",
    ),
)
