"""SVO-SOV data as files: what was generated is read again, and damage is reported."""

import json
import os
from dataclasses import asdict
from typing import get_args

import pytest
from checks import refused

from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.tasks.svo_sov import Split, SvoSovConfig, generate
from btg_seq2seq.tasks.svo_sov_files import bitext_of, read, read_config, write

SPLITS = get_args(Split)
FILES = {
    f"{name}.{kind}"
    for name in ("train", "dev", "test")
    for kind in ("source", "target", "tree", "segmentation")
} | {"svo_sov.json"}


@pytest.mark.parametrize("split", SPLITS)
def test_reading_gives_what_was_generated(split, tmp_path):
    config = SvoSovConfig.tiny(split, 7)
    written = write(tmp_path / "new" / "directory", config)
    assert written == generate(config) == read(tmp_path / "new" / "directory")
    assert read_config(tmp_path / "new" / "directory") == config
    assert {path.name for path in (tmp_path / "new" / "directory").iterdir()} == FILES


def test_files_are_as_documented(tmp_path):
    item = write(str(tmp_path), SvoSovConfig.tiny("few-shot"))["dev"][0]
    first = {
        kind: (tmp_path / f"dev.{kind}").read_text(encoding="utf-8").split("\n")[0]
        for kind in ("source", "target", "tree", "segmentation")
    }
    assert first == {
        "source": item.source,
        "target": item.target,
        "tree": str(item.tree),
        "segmentation": " ".join(str(stop - start) for start, stop in item.target_phrases),
    }
    saved = json.loads((tmp_path / "svo_sov.json").read_text(encoding="utf-8"))
    assert saved == {**asdict(SvoSovConfig.tiny("few-shot")), "phrase_lengths": [1, 3]}


def test_writing_again_replaces_everything(tmp_path):
    write(tmp_path, SvoSovConfig.tiny("few-shot", 1))
    config = SvoSovConfig.tiny("novel-position", 2)
    write(tmp_path, config)
    assert (read(tmp_path), read_config(tmp_path)) == (generate(config), config)


def test_interrupted_writing_leaves_nothing_that_looks_complete(tmp_path, monkeypatch):
    write(tmp_path, SvoSovConfig.tiny("few-shot", 1))
    moved = []

    def fail_later(source, destination):
        moved.append(destination)
        if len(moved) > 3:
            raise KeyboardInterrupt
        return original(source, destination)

    original = os.replace
    monkeypatch.setattr(os, "replace", fail_later)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, SvoSovConfig.tiny("few-shot", 2))
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"svo_sov.json"}
    with refused("svo_sov.json", "missing"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("dev.tree", "[0:", "[1:", ["dev.*", "line 1"]),
        ("dev.tree", "\n", " nonsense\n", ["dev.*", "line 1", "nonsense"]),
        ("dev.source", "\n", " s1\n", ["dev.*", "line 1", "does not span"]),
        ("test.target", "\n", " t1\n", ["test.*", "line 1", "lengths"]),
        ("test.segmentation", " ", " 0 ", ["test.*", "line 1", "lengths"]),
        ("test.segmentation", " ", " x ", ["test.*", "line 1", "x"]),
        ("train.target", "\n", "\n\n", ["lines differ", "train.target", "301"]),
        ("svo_sov.json", '"seed"', '"sed"', ["svo_sov.json", "sed"]),
        ("svo_sov.json", "few-shot", "many", ["svo_sov.json", "many", "novel-position"]),
        ("svo_sov.json", "{", "", ["svo_sov.json"]),
    ],
)
def test_damaged_files_are_named(tmp_path, file, old, new, words):
    write(tmp_path, SvoSovConfig.tiny("few-shot"))
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with refused(*words):
        read(tmp_path)


def test_missing_files_are_named(tmp_path):
    write(tmp_path, SvoSovConfig.tiny("few-shot"))
    (tmp_path / "dev.tree").unlink()
    with refused("dev.tree", "missing"):
        read(tmp_path)


def test_configs_from_before_there_were_readable_words(tmp_path):
    config = SvoSovConfig.tiny("few-shot")
    write(tmp_path, config)
    saved = json.loads((tmp_path / "svo_sov.json").read_text(encoding="utf-8"))
    del saved["words"]
    (tmp_path / "svo_sov.json").write_text(json.dumps(saved), encoding="utf-8")
    assert read_config(tmp_path) == config


def test_bitexts():
    items = generate(SvoSovConfig.tiny("few-shot", words="readable"))["dev"]
    plain, gold = bitext_of(items, "dev"), bitext_of(items, "dev", gold=True)
    assert plain.name == "dev"
    assert plain.source == gold.source == [item.source for item in items]
    assert plain.trees == gold.trees == [str(item.tree) for item in items]
    assert plain.segmentations is None
    lengths = [len(target.split()) for _, target in items[0].phrase_pairs]
    assert gold.segmentations[0] == " ".join(map(str, lengths))


def test_the_tasks_are_the_paper_size_data():
    task = TASKS["svo-sov/few-shot"]
    sets = task.bitexts(seed=3)
    expected = generate(SvoSovConfig("few-shot", 3))
    assert {name: pairs.source for name, pairs in sets.items()} == {
        name: [item.source for item in items] for name, items in expected.items()
    }
    assert task.metric == "exact_match"
    assert task.paper["BTG-N"] == 100
