"""Settings of a run as Hugging Face's trainer names them."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import Seq2SeqTrainingArguments, TrainingArguments

from btg_seq2seq.errors import UserError
from btg_seq2seq.training.settings.config import TrainConfig


def training_arguments(config: TrainConfig, has_dev: bool) -> Seq2SeqTrainingArguments:
    """Translate the settings of a run."""
    optimisation = config.optimisation
    schedule = optimisation.schedule
    arguments = Seq2SeqTrainingArguments(
        output_dir=config.output,
        max_steps=optimisation.steps,
        gradient_accumulation_steps=optimisation.accumulate,
        learning_rate=optimisation.learning_rate,
        lr_scheduler_type="constant_with_warmup" if schedule == "constant" else schedule,
        warmup_steps=optimisation.warmup,
        adam_beta1=optimisation.betas[0],
        adam_beta2=optimisation.betas[1],
        weight_decay=optimisation.weight_decay,
        max_grad_norm=optimisation.clip,
        bf16=optimisation.bf16,
        # Apple's GPUs have no float64, which draws and dynamic programs need.
        use_cpu=not torch.accelerator.is_available() or torch.backends.mps.is_available(),
        seed=config.seed,
        logging_steps=optimisation.log_every,
        logging_nan_inf_filter=False,  # the trainer stops instead
        eval_strategy="steps" if has_dev else "no",
        eval_steps=optimisation.eval_every,
        save_strategy="steps",
        save_steps=optimisation.checkpoint_every,
        metric_for_best_model=optimisation.metric if has_dev else None,
        greater_is_better=optimisation.greater_is_better if has_dev else None,
        restore_callback_states_from_checkpoint=True,
        remove_unused_columns=False,
        label_names=["labels"],
        disable_tqdm=True,
        report_to=[],
    )
    arguments._n_gpu = min(1, arguments.n_gpu)  # several GPUs are for several processes
    return arguments


def check_processes(checkpoint: Path, arguments: TrainingArguments) -> None:
    """Refuse to resume with another number of processes, whose random states were not saved."""
    written = len([*checkpoint.glob("rng_state*.pth")])
    if written != arguments.world_size:
        raise UserError(
            f"cannot resume: {checkpoint} was written by {written} processes, and now there are "
            f"{arguments.world_size}: start {written} processes"
        )


def wait(arguments: TrainingArguments) -> None:
    """Let the processes of a run catch up with each other."""
    if arguments.world_size > 1:
        torch.distributed.barrier()
