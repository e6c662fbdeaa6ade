"""English to Chinese: the paper's few-shot splits, and CoGnition's own compositional test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from btg_seq2seq.evaluation.compounds import CompoundScore, compound_score, read_lexicon
from btg_seq2seq.tasks.data_files import DataFile, pair_files, read_pairs
from btg_seq2seq.tasks.task import Bitexts, Judge, Task
from btg_seq2seq.text import read_lines

FEW_SHOT = {"NP": 812, "VP": 914, "PP": 906}  # training pairs
PHRASES = {"NP": "noun phrases", "VP": "verb phrases", "PP": "prepositional phrases"}
FEW_SHOT_CHECKSUMS = {
    "NP": {
        "dev.en": "f8f6a3fd869587aa12c5e7869b4e37eddb0d6c8593b3516ccd96b7c562485032",
        "dev.zh": "749e1f945056a778bd26eebc26b0f117b5c3cf2511f82422f972424222097934",
        "test.en": "649a23277704da8f55c3756b063423fed12870b5cb2850538401b7e617ca0eef",
        "test.zh": "982f923a40178f38676d3c4509c7b05b9d25d18e909c8f0848c77f32528cba67",
        "train.en": "8d5fc81df3d8ece26c314d9edbf734b1c8d7304da9309456e159cd98af4bd9e3",
        "train.zh": "36356d01699f3b97e443bbcff25659572670d677ae146c0f97472d6a99d62103",
    },
    "VP": {
        "dev.en": "fe9826afa0f70286b3c12aeb1ff78119b68eadd499ba865bb7463b1192ba5cf5",
        "dev.zh": "ab24aac506cf6ac4f7c424d4f03bb8e6fd0d6aff69349fcb308749b5a22b08eb",
        "test.en": "839db109a538ea370f3b213d41305ceb4ad9dfe2c3edba4ec1816c036e025ef1",
        "test.zh": "a1c1b4637a846016a2c1776bc0c1b4ed217ad72619b1ce957ef65e41bc44069f",
        "train.en": "71e833c7ed9e7c9435ba105dafbe1cc241c83ee5ffa775200236b92d713348f7",
        "train.zh": "b882c3e930d4ef968fcafad93fa5575bb4115d98d842878def87e25c8dc1664f",
    },
    "PP": {
        "dev.en": "a5ebf734cb3f923ebcdb38018a6705e01cd9d4a077ee37fd3f520002d8594687",
        "dev.zh": "92e4168561de0ea022f5bb54e53e14d6f09fb20a5fcf750fc8f4923019b9a526",
        "test.en": "d36a829e90121fdeddbe3596b5f11c306c73351df0cbeaf3b3673da0e80a5d5b",
        "test.zh": "1a95e24677b711bc20602b5275309692ce87f80b123f5c7be0748549222fc190",
        "train.en": "098a7d755fc8814d548be852e7185c24128ad3dbf4559ac1c376ba344907058f",
        "train.zh": "217bf1d507756209e1a46511d539844991c2d860ec33ffcc49c0e91ed79a3088",
    },
}
PAPER = {
    "NP": {
        "seq2seq": 45.2,
        "trivial-align": 35.5,
        "fast-align": 64.4,
        "BTG-1": 60.8,
        "BTG-N": 61.3,
    },
    "VP": {
        "seq2seq": 49.0,
        "trivial-align": 34.8,
        "fast-align": 42.0,
        "BTG-1": 55.9,
        "BTG-N": 57.2,
    },
    "PP": {
        "seq2seq": 41.5,
        "trivial-align": 32.9,
        "fast-align": 37.6,
        "BTG-1": 48.5,
        "BTG-N": 49.8,
    },
}
COGNITION = "github.com/yafuly/CoGnition (Li et al., 2021)"
COMPOSITIONAL = "cg-test"
COGNITION_LINES = {"train": 19_000, "dev": 500, "test": 500, COMPOSITIONAL: 10_800}
COGNITION_CHECKSUMS = {
    "cg-test.compound": "62184bdf2d0ea8de2201effe5b2e4fc01875807a8fa98208fc1b6806acf1fbee",
    "cg-test.en": "66c5bb14ef107b8f459c5f49d9e4efe5bae426a5095b5cb4a651fd48a3d07ba6",
    "cg-test.kind": "97902685b5b98f69d8e5f61b83d286bf5beda195dd2111f4d4bf5fd359ee2994",
    "cg-test.zh": "adc9844ec6cdae064808df6fb54619ea5d9db628786ddbb004e3af30a7c1f184",
    "dev.en": "07a2d40168637295c8e3e84b47ef0dcb84dc59b343e3635b9a988c7cea48daec",
    "dev.zh": "4464ab33664732afa12975e47c87e49e55e83c11f5c7d50c4971818dbcbe5548",
    "lexicon.tsv": "5e7c515e40b53252f72c14500fa1d12f8cfc7b47634d055943bfc549c150a53b",
    "test.en": "93e7a7a0cbf259892e03761ce68f36993f30a35926fcebc765f2f9617eba5b2c",
    "test.zh": "4c339570e3109071e20ee8f1766ddf3c4bb043b18f0646b026297383b0ae3dbd",
    "train.en": "f2ca958336e9a16a7dce00d0f75666afbc09b9002fdf7f2541b2c090d69b5669",
    "train.zh": "47a43db1da2242c86f6a22a90fcf1ed594235ba0ec33bf20004c0c468ac51059",
}


def read(names: tuple[str, ...], directory: Path, seed: int) -> Bitexts:
    """Read sets by their names."""
    return read_pairs(directory, {name: (f"{name}.en", f"{name}.zh") for name in names})


def compound_judge(directory: Path) -> Judge:
    """Judge translations of ``cg-test`` by the compounds in them."""
    lexicon = read_lexicon(directory / "lexicon.tsv")
    compounds, kinds = (
        read_lines(directory / f"{COMPOSITIONAL}.{kind}") for kind in ("compound", "kind")
    )

    def judge(translations: Sequence[str]) -> CompoundScore:
        return compound_score(translations, compounds, kinds, lexicon)

    return judge


def _few_shot(kind: str) -> Task:
    lines = {"train": FEW_SHOT[kind], "dev": 200, "test": 200}
    return Task(
        name=f"en-zh/{kind.lower()}",
        description=f"English to Chinese, few-shot: {PHRASES[kind]} in new contexts",
        make=partial(read, tuple(lines)),
        files=pair_files("en", "zh", lines, FEW_SHOT_CHECKSUMS[kind]),
        config="en-zh-few-shot.yaml",
        paper=PAPER[kind],
        paper_table="Table 1, on the authors' own splits, which are not published",
        tokenize="zh",
        origin=f"rebuilt from the cg-test set of {COGNITION}: each phrase in three training "
        "contexts, dev and test with the same phrases in new contexts",
        preprocessing="none; Chinese is not segmented",
    )


def _cognition() -> Task:
    marks = [f"{COMPOSITIONAL}.{kind}" for kind in ("compound", "kind")]
    lines = COGNITION_LINES[COMPOSITIONAL]
    return Task(
        name="cognition-20k",
        description="English to Chinese, CoGnition's compositional test, 19,000 training pairs",
        make=partial(read, tuple(COGNITION_LINES)),
        files=(
            *pair_files("en", "zh", COGNITION_LINES, COGNITION_CHECKSUMS),
            *(DataFile(name, lines, COGNITION_CHECKSUMS[name]) for name in marks),
            DataFile("lexicon.tsv", None, COGNITION_CHECKSUMS["lexicon.tsv"]),
        ),
        config="cognition-20k.yaml",
        paper_table="not in the paper",
        tokenize="zh",
        origin=f"{COGNITION}: 19,000 pairs of its validation and random test sets as train.*, 500 "
        "each as dev.* and test.*, and its cg-test set and lexicon",
        preprocessing="none; Chinese is not segmented",
        judges={COMPOSITIONAL: compound_judge},
    )


TASKS = (*map(_few_shot, FEW_SHOT), _cognition())
