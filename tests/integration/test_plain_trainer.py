"""Hugging Face's own trainer drives the model as it drives any other."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import SIZE, tiny_bitext
from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments

from btg_seq2seq import BTGSeq2Seq
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.training import BTGObjective, FollowSteps, ObjectiveSettings


def test_using_a_model_loads_no_trainer() -> None:
    code = """
import sys
from btg_seq2seq import BTGSeq2Seq, Translator
from btg_seq2seq.model.families import default_config
model = BTGSeq2Seq.from_backbone(default_config(20, hidden_size=16, layers=1, heads=2))
assert type(model.objective).__name__ == "BTGObjective"
loaded = [name for name in sys.modules if name.startswith("btg_seq2seq.training.")]
parts = {name.split(".")[2] for name in loaded}
assert parts == {"objective", "settings"}, parts
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def tiny_trainer(directory: Path, **options: Any) -> Seq2SeqTrainer:
    bitext = tiny_bitext("train", 16)
    tokenizer = train_tokenizer("word", bitext.source + bitext.target)
    size = {name: SIZE[name] for name in ("hidden_size", "layers", "heads")}
    model = BTGSeq2Seq.from_backbone(default_config(len(tokenizer), **size), tokenizer)
    encoded = tokenizer(bitext.source, text_target=bitext.target)
    examples = [dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)]
    return Seq2SeqTrainer(
        model,
        Seq2SeqTrainingArguments(
            str(directory),
            max_steps=2,
            per_device_train_batch_size=8,
            report_to="none",
            use_cpu=True,
        ),
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        train_dataset=examples,
        **options,
    )


def test_the_trainer_of_transformers_trains_it(tmp_path: Path) -> None:
    trainer = tiny_trainer(tmp_path)
    model = trainer.model
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    assert trainer.train().training_loss > 0
    changed = {
        name.split(".")[0]
        for name, old in before.items()
        if not torch.equal(old, model.get_parameter(name))
    }
    assert changed == {"backbone", "prior", "posterior", "leaves"}
    trainer.save_model(str(tmp_path / "model"))
    loaded = BTGSeq2Seq.from_pretrained(tmp_path / "model")
    assert torch.equal(loaded.prior.output, model.prior.output)


@pytest.mark.parametrize(
    "settings", [{"flat_steps": 1}, {"uniform_steps": 1}, {"turned": {0: 0.3, 1: 0.0}}]
)
def test_phases_and_schedules_follow_the_steps_of_a_trainer(tmp_path: Path, settings: Any) -> None:
    trainer = tiny_trainer(tmp_path)
    trainer.model.objective = BTGObjective(ObjectiveSettings(**settings))
    with pytest.raises(ValueError, match="FollowSteps"):
        trainer.train()
    trainer = tiny_trainer(tmp_path, callbacks=[FollowSteps()])
    objective = trainer.model.objective = BTGObjective(ObjectiveSettings(**settings))
    before = trainer.model.prior.output.clone()
    trainer.train()  # the parsers learn in the second of two steps
    assert not torch.equal(before, trainer.model.prior.output)
    assert objective.step is None
