"""Hugging Face's own trainer drives the model as it drives any other."""

import subprocess
import sys
from pathlib import Path

import torch
from tiny_runs import SIZE, tiny_bitext
from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments

from btg_seq2seq import BTGSeq2Seq
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import train_tokenizer


def test_the_model_has_its_objective_from_the_start() -> None:
    code = "from btg_seq2seq import BTGSeq2Seq; assert BTGSeq2Seq.objective is not None"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_trainer_of_transformers_trains_it(tmp_path: Path) -> None:
    bitext = tiny_bitext("train", 16)
    tokenizer = train_tokenizer("word", bitext.source + bitext.target)
    size = {name: SIZE[name] for name in ("hidden_size", "layers", "heads")}
    model = BTGSeq2Seq.from_backbone(default_config(len(tokenizer), **size), tokenizer)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    encoded = tokenizer(bitext.source, text_target=bitext.target)
    examples = [dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)]
    trainer = Seq2SeqTrainer(
        model,
        Seq2SeqTrainingArguments(
            str(tmp_path),
            max_steps=2,
            per_device_train_batch_size=8,
            report_to="none",
            use_cpu=True,
        ),
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        train_dataset=examples,
    )
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
