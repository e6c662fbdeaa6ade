"""The demonstration: a seq2seq model and a BTG model learn the same toy task, side by side.

SVO-SOV with readable words: English subject, verb and object become subject, object, verb of an
invented language. The test puts known phrases in new company. A plain seq2seq model has memorised
sentences, which does not help; the BTG model has found the phrases. What is printed at the end is
left to ``demo_report``.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.tasks import demo_report
from btg_seq2seq.tasks.svo_sov import Item, SvoSovConfig, generate
from btg_seq2seq.tasks.svo_sov_files import bitext_of
from btg_seq2seq.text import Bitext, write_lines
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.run import TrainResult, train
from btg_seq2seq.training.settings.config import (
    CONFIG_FILE,
    DecodingConfig,
    ModelConfig,
    TokenizerConfig,
    TrainConfig,
    load_config,
)
from btg_seq2seq.training.settings.objective import ObjectiveSettings
from btg_seq2seq.training.settings.optimisation import OptimisationConfig

# Smaller than the paper's task: short phrases, few of them.
TASK = SvoSovConfig(
    "few-shot",
    phrase_lengths=(1, 4),
    train_size=600,
    dev_size=100,
    test_size=200,
    vocabulary_size=100,
    verb_phrases=12,
    object_phrases=20,
    words="readable",
)


def settings(output: Path, seed: int) -> TrainConfig:
    """Training settings of the BTG model."""
    return TrainConfig(
        output=str(output),
        tokenizer=TokenizerConfig(kind="word"),
        model=ModelConfig(
            hidden_size=96,
            layers=2,
            heads=4,
            dropout=0.0,
            max_segments=3,
            max_phrase_length=TASK.phrase_lengths[1],
        ),
        objective=ObjectiveSettings(segment_rate=0.05, flat_weight=0.4, taught_share=1.0),
        optimisation=OptimisationConfig(
            steps=1000,
            batch_size=32,
            parts=1,  # the model is small
            learning_rate=2e-3,
            schedule="linear",
            warmup=50,
            log_every=50,
            eval_every=200,
            translate_dev=100,
            metric="exact_match",
        ),
        recombination=RecombinationConfig(start=150, every=300, share=0.85),
        decoding=DecodingConfig(flat_weight=0.3, segment_rate=0.05),
        seed=seed,
        threads=1,  # the model is so small that threads would wait for each other
    )


def plain(config: TrainConfig, output: Path) -> TrainConfig:
    """Training settings of the seq2seq model: as many steps, on whole sentences alone."""
    return replace(
        config,
        output=str(output),
        objective=ObjectiveSettings(flat_weight=1.0),
        recombination=RecombinationConfig(),
    )


def run(output: Path, seed: int, quiet: bool = False, suggestions: bool = True) -> None:
    """Train both models, and print a table, a derivation, a rule and commands to try."""
    console, progress = Console(), Console(quiet=quiet)
    for name in ("seq2seq", "btg"):
        _check_own(output / name)
    begin = time.monotonic()
    data = generate(replace(TASK, seed=seed))
    sets = bitexts(data)
    for name, pairs in sets.items():
        write_lines(output / f"{name}.source", pairs.source)
        write_lines(output / f"{name}.target", pairs.target)
    demo_report.introduce(progress, data, TASK)
    config = settings(output / "btg", seed)
    progress.rule("plain seq2seq")
    base = trained(plain(config, output / "seq2seq"), sets, quiet)
    progress.rule("BTG-Seq2Seq: the same seq2seq model, with a grammar")
    btg = trained(config, sets, quiet)
    demo_report.report(console, data, base, btg)
    minutes = (time.monotonic() - begin) / 60
    progress.print(f"\nDone in {minutes:.1f} minutes. The files are in {output}.", soft_wrap=True)
    if suggestions:
        demo_report.suggest(progress, output, demo_report.rule_for(data))


def _check_own(directory: Path) -> None:
    """Refuse to replace anything except an earlier demonstration, which reads no files."""
    started = directory / CONFIG_FILE
    if started.exists():
        is_own = load_config(started).data.train_source is None
    else:
        is_own = not directory.exists() or not any(directory.iterdir())
    if not is_own:
        raise UserError(
            f"{directory} holds a run that is not the demonstration's: choose another directory "
            "with --output"
        )


def bitexts(data: dict[str, list[Item]]) -> dict[str, Bitext]:
    """The three sets of the task, with gold trees to compare with."""
    return {name: bitext_of(items, name) for name, items in data.items()}


def trained(config: TrainConfig, sets: dict[str, Bitext], quiet: bool = False) -> TrainResult:
    """Train a model; it replaces the one of an earlier demonstration."""
    data = Bitexts(sets["train"], sets["dev"], sets["test"].source)
    metrics = DevMetrics(config.optimisation.translate_dev)
    return train(config, bitexts=data, metrics=metrics, overwrite=True, quiet=quiet)
