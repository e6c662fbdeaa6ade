"""German to English with little data: TED talks of IWSLT 2014, in three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from btg_seq2seq.tasks.data_files import pair_files, read_pairs
from btg_seq2seq.tasks.task import Bitexts, Task

SIZES = (500, 1000, 4978)
HELD_OUT = {"dev": 6654, "test": 6750}
CHECKSUMS = {
    "dev.de": "459686889007c0407acaa94dfa698612f08a0516e79dfb6dcfe9013d9d8b95dd",
    "dev.en": "f1788bae6d099a286639b7cfbb4d12242b000ca6e035fecdacd9716309be476e",
    "test.de": "e718c783e33160b7d72af8f733756a466e0d0c016eff8ab624c1b0d1d01cbbdf",
    "test.en": "4b127beb9050511a3e6209cd837ff36f623a3a423666b32aba6e208b7330cf4c",
    "train1000.de": "81806814c99159e8a289645aa57c905b51a18868206b041bfb0ff9dd25222b36",
    "train1000.en": "4f24e9c0c56eafdb1c6f878698e856739b9ba22cb48ff8dc9a67a5abf7f8c51b",
    "train4978.de": "4a593b412b9f5a28b3edde5f4790ca45b9989c6dd075ba70739f3fea115b2e03",
    "train4978.en": "338d682242c496ab231ee37b91d1728c14e1ecfadd07679dd133785871ff7ad6",
    "train500.de": "e54852b69b3d4c1aaa8baf1c1278a6368339ebd00e348a08bad79edc5be9b42f",
    "train500.en": "ddb3be05ee1f7a96eb76ca814bbed0a99cc10a492195d01553587c7753979e96",
}
PAPER: Mapping[int, Mapping[str, float]] = {
    500: {
        "seq2seq": 22.9,
        "trivial-align": 17.8,
        "fast-align": 21.1,
        "BTG-1": 24.7,
        "BTG-N": 25.1,
    },
    1000: {
        "seq2seq": 25.7,
        "trivial-align": 19.1,
        "fast-align": 24.0,
        "BTG-1": 26.8,
        "BTG-N": 29.0,
    },
    4978: {
        "seq2seq": 29.7,
        "trivial-align": 23.0,
        "fast-align": 29.1,
        "BTG-1": 29.6,
        "BTG-N": 31.0,
    },
}
ORIGIN = (
    "the IWSLT 2014 German-English TED talks (CC BY-NC-ND), lower-cased and tokenised as fairseq's "
    "prepare-iwslt14.sh does: its valid set as dev.*, its test set as test.*, and trainN.* drawn "
    "from pairs that its training set leaves out"
)


def read(size: int, directory: Path, seed: int) -> Bitexts:
    """Read a training set of this size, and the dev and test sets of all sizes."""
    sets = {"train": f"train{size}", "dev": "dev", "test": "test"}
    return read_pairs(
        directory, {name: (f"{stem}.de", f"{stem}.en") for name, stem in sets.items()}
    )


def _config(size: int, pretrained: bool) -> str:
    if pretrained:
        return "de-en-mbart.yaml"
    return "de-en.yaml" if size == max(SIZES) else "de-en-tiny.yaml"


def _task(size: int, *, pretrained: bool) -> Task:
    table = "Table 1, from pretrained mBART"
    scratch = "; 16.57 is the best from random weights (Sennrich and Zhang, 2019)"
    return Task(
        name=f"de-en/{size}" + "/mbart" * pretrained,
        description=f"German to English, {size:,} TED sentence pairs, from "
        + ("pretrained mBART, as in the paper" if pretrained else "random weights"),
        make=partial(read, size),
        files=pair_files("de", "en", {f"train{size}": size, **HELD_OUT}, CHECKSUMS),
        config=_config(size, pretrained),
        paper=PAPER[size],
        paper_table=table + scratch * (size == max(SIZES) and not pretrained),
        tokenize="none",  # 13a would cut &apos; into three words that always match
        origin=ORIGIN,
        preprocessing="none; lower-cased and tokenised, with entities such as &apos;",
    )


TASKS = tuple(_task(size, pretrained=each) for each in (False, True) for size in SIZES)
