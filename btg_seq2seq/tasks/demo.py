"""The demonstration: a seq2seq model and a BTG model learn the same toy task, side by side.

SVO-SOV sentences: a subject, a verb and an object, each a phrase of random words, become subject,
object, verb. The test puts known phrases in new company: what a plain seq2seq model has learned by
heart does not help, phrases that were found do.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.evaluation.metrics import exact_match
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
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
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.translation.translator import Translator

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
)
SHOWN = 3  # derivations


def settings(output: Path, seed: int) -> TrainConfig:
    """How the BTG model is trained."""
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
        objective=ObjectiveSettings(
            segment_rate=0.05, flat_weight=0.2, samples=8, uniform_steps=100
        ),
        optimisation=OptimisationConfig(
            steps=1200,
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
        recombination=RecombinationConfig(start=250, every=250, share=0.75),
        decoding=DecodingConfig(flat_weight=0.05, segment_rate=0.05),
        seed=seed,
        threads=1,  # the models are so small that more of them would wait for each other
    )


def plain(config: TrainConfig, output: Path) -> TrainConfig:
    """The same model trained on whole sentences alone, for as many steps."""
    return replace(
        config,
        output=str(output),
        objective=ObjectiveSettings(flat_weight=1.0),
        recombination=RecombinationConfig(),
    )


def run(output: Path, seed: int, quiet: bool = False) -> None:
    """Run the demonstration: both models, a table, and a few derivations."""
    console, progress = Console(), Console(quiet=quiet)
    for name in ("seq2seq", "btg"):
        _check_own(output / name)
    begin = time.monotonic()
    sets = bitexts(seed)
    for side in ("source", "target"):
        write_lines(output / f"test.{side}", getattr(sets["test"], side))
    progress.print(
        f"SVO-SOV, a small version: {len(sets['train'].source)} training pairs, phrases of 1 to "
        f"{TASK.phrase_lengths[1]} words (the paper's task has 2,000 pairs and phrases of up to 8)."
        f"\n\n  {sets['train'].source[0]}\n  {sets['train'].target[0]}\n"
    )
    config = settings(output / "btg", seed)
    progress.rule("plain seq2seq")
    base = trained(plain(config, output / "seq2seq"), sets, quiet)
    progress.rule("BTG-Seq2Seq: the same seq2seq model, and a grammar")
    btg = trained(config, sets, quiet)
    report(console, sets, base, btg)
    progress.print(
        f"\nDone in {(time.monotonic() - begin) / 60:.1f} minutes. The model is in {output / 'btg'}"
        f"; try\n\n  btg translate {output / 'btg'} {output / 'test.source'} --mode cky\n"
    )


def _check_own(directory: Path) -> None:
    """What is replaced must be what an earlier demonstration left: it reads no files."""
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


def bitexts(seed: int) -> dict[str, Bitext]:
    """The three sets of the task."""
    data = generate(replace(TASK, seed=seed))
    return {name: bitext_of(items, name) for name, items in data.items()}


def trained(config: TrainConfig, sets: dict[str, Bitext], quiet: bool = False) -> TrainResult:
    """A model; what the demonstration left there before makes way."""
    data = Bitexts(sets["train"], sets["dev"], sets["test"].source)
    metrics = DevMetrics(config.optimisation.translate_dev)
    return train(config, bitexts=data, metrics=metrics, overwrite=True, quiet=quiet)


def report(console: Console, sets: dict[str, Bitext], base: TrainResult, btg: TrainResult) -> None:
    """The table, and a few derivations."""
    test = sets["test"]
    translator = Translator(btg.model, btg.tokenizer)
    whole = Translator(base.model, base.tokenizer).translate(test.source, mode="flat")
    flat = translator.translate(test.source, mode="flat")
    cky = translator.translate(test.source, mode="cky")
    trees = DevMetrics(0)(btg.model, btg.tokenizer, test)

    table = Table(title="Test sentences translated exactly: known phrases in new company")
    for column in ("system", "exact match"):
        table.add_column(column, justify="left" if column == "system" else "right")
    rows = {"seq2seq": whole, "BTG-1: the same, taught by the grammar": flat}
    rows["BTG-N: the grammar combines phrases"] = cky
    for name, translations in rows.items():
        score = exact_match([translation.text for translation in translations], test.target)
        table.add_row(name, f"{score:.1f} %")
    console.print()
    console.print(table)
    console.print(
        f"Trees that are right: {trees['posterior_trees']:.1f} % with the target in sight, "
        f"{trees['prior_trees']:.1f} % from the source alone. No tree was ever given."
    )
    if btg.recombined is not None:
        console.print(
            f"Recombined sentences: {btg.recombined['made']:,}; of these, "
            f"{btg.recombined['coincidences']:,} happened to be held-out ones and were thrown away."
        )
    console.print("\nSome derivations ([...] keeps the order, <...> inverts it):")
    for translation in cky[:SHOWN]:
        show(console, translation)


def show(console: Console, translation: Translation) -> None:
    """One sentence, its translation and its derivation."""
    console.print(f"\n  {translation.source}", markup=False, highlight=False)
    console.print(f"  {translation.text}", markup=False, highlight=False)
    console.print(f"  {translation.bracket}", markup=False, highlight=False)
