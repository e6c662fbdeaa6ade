"""SVO-SOV data as files and bitexts: sentences, gold trees and target phrases, one per line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import get_args

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Tree
from btg_seq2seq.tasks.svo_sov import SETS, Item, Split, SvoSovConfig, generate, spans_of
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.text import Bitext, read_lines, write_lines

CONFIG_FILE = "svo_sov.json"


def write(directory: str | Path, config: SvoSovConfig) -> dict[str, list[Item]]:
    """Generate, and write ``train.source``, ``.target``, ``.tree``, ``.segmentation``, and so on.

    One line per sentence: its words, its printed tree, the lengths of its target phrases. Files
    appear whole or not at all; the config, ``svo_sov.json``, is written last.
    """
    directory, data = Path(directory), generate(config)
    path = directory / CONFIG_FILE
    path.unlink(missing_ok=True)
    for name, items in data.items():
        for kind, lines in _columns(items).items():
            write_lines(directory / f"{name}.{kind}", lines)
    write_lines(path, json.dumps(asdict(config), indent=2).splitlines())
    return data


def bitext_of(items: Sequence[Item], name: str = "svo-sov", *, gold: bool = False) -> Bitext:
    """Sentence pairs with gold trees; ``gold`` adds target phrases, for the estimator ``gold``."""
    columns = _columns(items)
    segmentations = columns["segmentation"] if gold else None
    return Bitext(columns["source"], columns["target"], columns["tree"], name, segmentations)


def _columns(items: Sequence[Item]) -> dict[str, list[str]]:
    return {
        "source": [item.source for item in items],
        "target": [item.target for item in items],
        "tree": [str(item.tree) for item in items],
        "segmentation": [
            " ".join(str(stop - start) for start, stop in item.target_phrases) for item in items
        ],
    }


def read_config(directory: str | Path) -> SvoSovConfig:
    """Read the config that ``write`` left beside the data."""
    path = Path(directory) / CONFIG_FILE
    if not path.is_file():
        raise UserError(f"{path} is missing: {directory} holds no complete SVO-SOV data")
    try:
        return SvoSovConfig(**json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise UserError(f"{path}: {error}") from error


def read(directory: str | Path) -> dict[str, list[Item]]:
    """Read what ``write`` wrote."""
    read_config(directory)
    return {name: _read_set(Path(directory), name) for name in SETS}


def _read_set(directory: Path, name: str) -> list[Item]:
    columns = {
        path: read_lines(path) for path in [directory / f"{name}.{kind}" for kind in _columns([])]
    }
    counts = {str(path): len(lines) for path, lines in columns.items()}
    if len(set(counts.values())) > 1:
        raise UserError(f"the numbers of lines differ, {counts}; write the data again")
    items = []
    for number, row in enumerate(zip(*columns.values(), strict=True), start=1):
        try:
            items.append(_parse(*row))
        except ValueError as error:
            raise UserError(f"{directory / name}.*, line {number}: {error}") from error
    return items


def _parse(source: str, target: str, tree_text: str, segmentation: str) -> Item:
    tree = Tree.parse(tree_text)
    if (tree.start, tree.stop) != (0, len(source.split())):
        raise UserError(f"the tree {tree} does not span the source {source!r}")
    lengths = [int(length) for length in segmentation.split()]
    if (
        min(lengths, default=0) < 1
        or sum(lengths) != len(target.split())
        or len(lengths) != tree.segments
    ):
        raise UserError(
            f"the lengths {segmentation!r} do not cut the target {target!r} into a phrase for each "
            f"leaf of {tree}"
        )
    return Item(source, target, tree, spans_of(lengths))


def _make(split: Split, directory: Path, seed: int) -> dict[str, Bitext]:
    data = generate(SvoSovConfig(split, seed))
    return {name: bitext_of(items, name) for name, items in data.items()}


_PAPER: dict[Split, dict[str, float]] = {
    "few-shot": {"seq2seq": 22.1, "BTG-1": 96.0, "BTG-N": 100.0},
    "novel-position": {"seq2seq": 1.2, "BTG-1": 100.0, "BTG-N": 100.0},
}
_DESCRIPTIONS: dict[Split, str] = {
    "few-shot": "SVO to SOV; subjects seen in three examples are tested in new company",
    "novel-position": "SVO to SOV; noun phrases seen in one role are tested in the other",
}
TASKS = tuple(
    Task(
        name=f"svo-sov/{split}",
        description=_DESCRIPTIONS[split],
        make=partial(_make, split),
        metric="exact_match",
        config=f"svo-sov-{split}.yaml",
        paper=_PAPER[split],
        paper_table="Table 1",
        preprocessing="none; the sentences are generated",
        reported_in="benchmarks.md",
    )
    for split in get_args(Split)
)
