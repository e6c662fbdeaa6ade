"""A trainer from settings and texts; data that do not fit the settings are refused first."""

from dataclasses import replace

import pytest
from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq.errors import UserError
from btg_seq2seq.recombination.collect import untracked
from btg_seq2seq.training.build_trainer import build_trainer
from btg_seq2seq.training.loop.arguments import training_arguments


def build(config, bitexts):
    lines = []
    arguments = training_arguments(config, bitexts.dev is not None)
    trainer = build_trainer(config, arguments, bitexts, None, None, lines.append, untracked)
    return trainer, lines


def test_a_trainer_has_the_settings_and_data(tmp_path):
    config = tiny_config(tmp_path)
    trainer, lines = build(config, tiny_bitexts())
    assert len(trainer.train_data) == 50
    assert len(trainer.dev_data) == 10
    assert trainer.objective.settings == config.objective
    assert trainer.recombined is None
    assert any(line.startswith("train: ") for line in lines)


def test_recombination_is_built_if_asked_for(tmp_path):
    config = tiny_config(tmp_path)
    config.recombination.start = 2
    trainer, _ = build(config, tiny_bitexts())
    assert trainer.recombined is not None
    held_out = trainer.recombined.excluded
    assert trainer.dev_data.source[0] in held_out


def test_gold_derivations_must_be_there_for_gold_only(tmp_path):
    config = tiny_config(tmp_path)
    config.objective = replace(config.objective, estimator="gold")
    with pytest.raises(UserError, match=r"data\.train_segmentations"):
        build(config, tiny_bitexts())


def test_settings_of_regularisation_reach_the_model(tmp_path):
    config = tiny_config(tmp_path, label_smoothing=0.1, ema=0.9)
    config.tokenizer = replace(config.tokenizer, kind="bpe", vocabulary_size=320, bpe_dropout=0.5)
    trainer, _ = build(config, tiny_bitexts())
    assert trainer.model.backbone.label_smoothing == 0.1
    assert trainer.average.decay == 0.9
    assert trainer.sampled is not None
    assert trainer.sampled.seed == config.seed


def test_patience_needs_a_dev_set(tmp_path):
    config = tiny_config(tmp_path, patience=2)
    with pytest.raises(UserError, match=r"optimisation\.patience"):
        build(config, replace(tiny_bitexts(), dev=None))
