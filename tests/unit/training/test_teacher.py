"""The teacher of a run: derivations in the model's units, and runs that resume exactly."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq import Translator
from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.lexical import LexicalSettings, LexicalTeacher
from btg_seq2seq.derivations.lexical.saved_tables import load_tables
from btg_seq2seq.grammar import Tree
from btg_seq2seq.manifest import verify_files
from btg_seq2seq.recombination import batches
from btg_seq2seq.recombination.batches import DERIVATIONS_FILE
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.training.loop.arguments import training_arguments
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.config import TokenizerConfig
from tests.unit.training.test_build_trainer import build


def taught_config(directory, *, taught_steps=None, **settings):
    config = tiny_config(directory, **settings)
    objective = replace(config.objective, teacher="lexical", taught_steps=taught_steps)
    return replace(config, objective=objective)


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_derivations_are_those_of_the_models_units(tmp_path, kind):
    config = taught_config(tmp_path)
    vocabulary = None if kind == "word" else 320
    config = replace(config, tokenizer=TokenizerConfig(kind, vocabulary))
    trainer, _ = build(config, tiny_bitexts())
    batch = next(iter(trainer.get_train_dataloader()))
    taught = trainer.taught(batch, 0)
    model = trainer.model
    pair = model.read(batch["input_ids"], batch["attention_mask"], batch["labels"]).pair
    assert [tree.stop for tree in taught["trees"]] == pair.source.units.tolist()
    assert [rows[-1][1] for rows in taught["segmentations"]] == pair.target.units.tolist()
    assert all(isinstance(tree, Tree) and tree.segments <= 3 for tree in taught["trees"])


def test_nothing_is_built_without_a_teacher(tmp_path):
    assert build(tiny_config(tmp_path), tiny_bitexts())[0].taught is None
    assert build(tiny_config(tmp_path, flat=True), tiny_bitexts())[0].taught is None


def test_epochs_count_updates(tmp_path):
    config = taught_config(tmp_path, batch_size=8, accumulate=2)
    trainer, _ = build(config, tiny_bitexts())
    assert trainer.taught.updates_per_epoch == 4  # 50 pairs in batches of 8, two per update
    assert training_arguments(config, True).gradient_accumulation_steps == 2


@pytest.mark.parametrize("taught_steps", [None, 5])
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(tmp_path, taught_steps):
    whole = train(
        taught_config(tmp_path / "whole", taught_steps=taught_steps),
        bitexts=tiny_bitexts(),
        quiet=True,
    )
    config = taught_config(tmp_path / "parts", taught_steps=taught_steps, steps=6)
    train(config, bitexts=tiny_bitexts(), quiet=True)
    config = taught_config(tmp_path / "parts", taught_steps=taught_steps)
    parts = train(config, bitexts=tiny_bitexts(), resume=True, quiet=True)
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(parts.model.state_dict()[name], weight, rtol=0, atol=0)


def recombined_config(directory, **settings):
    config = taught_config(directory, **settings)
    recombination = RecombinationConfig(start=2, share=0.8, derived=0.5, found_by="teacher")
    return replace(config, recombination=recombination)


def test_the_teachers_phrases_are_recombined_without_collecting(tmp_path, monkeypatch):
    monkeypatch.delattr(batches, "collect_derivations")
    whole = train(recombined_config(tmp_path / "whole"), bitexts=tiny_bitexts(), quiet=True)
    assert whole.recombined["made"] > 0
    derivations = DerivationCorpus.load(next((tmp_path / "whole").rglob(DERIVATIONS_FILE)))
    assert np.diff(derivations.ends).max() == 3  # as many phrases as the model allows
    train(recombined_config(tmp_path / "parts", steps=6), bitexts=tiny_bitexts(), quiet=True)
    config = recombined_config(tmp_path / "parts")
    parts = train(config, bitexts=tiny_bitexts(), resume=True, quiet=True)
    assert parts.recombined == whole.recombined
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(parts.model.state_dict()[name], weight, rtol=0, atol=0)


def test_the_parsers_learn_from_the_first_step(tmp_path):
    config = taught_config(tmp_path, steps=40, eval_every=40, save_every=40)
    result = train(config, bitexts=tiny_bitexts(), quiet=True)
    assert result.model.config.parsers_learned
    tables = load_tables(tmp_path, result.model.backbone.vocabulary_size)
    assert len(tables.forward) > 0
    verify_files(tmp_path)
    assert Translator.from_pretrained(tmp_path).tables is not None


def test_numbers_of_phrases_are_drawn_as_in_the_objective(tmp_path, monkeypatch):
    config = taught_config(tmp_path)
    config = replace(config, objective=replace(config.objective, segment_rate=0.35))
    seen = []
    learn = LexicalTeacher.learn

    def spied(corpus, settings, **options):
        seen.append(settings)
        return learn(corpus, settings, **options)

    monkeypatch.setattr(LexicalTeacher, "learn", spied)
    trainer, _ = build(config, tiny_bitexts())
    assert trainer.taught.draws.count > 0
    assert seen[0].drawn_rate == 0.35
    assert seen[0].segment_rate == LexicalSettings.segment_rate
