"""The trainer: Hugging Face's ``Seq2SeqTrainer`` with what is ours.

Ours are length-bucketed batches that (seed, epoch) alone decide, a learning rate of the parsers,
the terms of the objective in the log, atomic checkpoints, and errors that name the lines of a
batch. Steps, accumulation, schedules, precision and processes are Hugging Face's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import (
    PreTrainedTokenizerBase,
    PrinterCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainingArguments,
)
from transformers.trainer_callback import ExportableState

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.modes import evaluating
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.opening import summary
from btg_seq2seq.recombination.batches import RecombinedBatches
from btg_seq2seq.text import Bitext, BucketSampler, Collator, EncodedBitext, Example
from btg_seq2seq.text.batches import parts_of
from btg_seq2seq.training.checkpoints import Checkpoints, load_weights, put_weights
from btg_seq2seq.training.objective.objective import BTGObjective
from btg_seq2seq.training.objective.phases import first_taught_step
from btg_seq2seq.training.progress import DEV, EarlyStopping
from btg_seq2seq.training.settings.config import TrainConfig
from btg_seq2seq.training.settings.optimisation import OptimisationConfig
from btg_seq2seq.training.term_means import TermMeans

STATE_FILE = "trainer_state.json"
PARSERS = ("prior.", "posterior.", "leaves.")  # what the weights of the parsers are called
LINES_NAMED = 20

Metrics = Callable[[BTGSeq2Seq, PreTrainedTokenizerBase, Bitext], Mapping[str, float]]


def training_arguments(config: TrainConfig, has_dev: bool) -> Seq2SeqTrainingArguments:
    """The settings of a run as Hugging Face names them."""
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
        # Apple's has no float64, which draws and dynamic programs need.
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


@contextmanager
def readable(path: str | Path | None) -> Iterator[None]:
    """Name what cannot be read: whoever hands us a checkpoint can write its checksums too."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # whatever a file that is something else leads to
        raise UserError(f"{path} is not what a run has written: {summary(error)}") from error


def check_processes(checkpoint: Path, arguments: TrainingArguments) -> None:
    """Refuse to resume with another number of processes: their random states are not there."""
    written = len([*checkpoint.glob("rng_state*.pth")])
    if written != arguments.world_size:
        raise UserError(
            f"cannot resume: {checkpoint} was written by {written} processes, and now there are "
            f"{arguments.world_size}: start as many"
        )


class EpochLoader(DataLoader[Example]):
    """A loader that tells its batches the epoch."""

    batch_sampler: BucketSampler

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch."""
        self.batch_sampler.set_epoch(epoch)


class BTGTrainer(Seq2SeqTrainer):
    """Trains a ``BTGSeq2Seq`` on a bitext.

    ``metrics`` may measure more on the dev set than the loss: it is given the model, the tokenizer
    and the bitext ``dev``, of which ``dev_data`` holds the tokens.
    """

    model: BTGSeq2Seq

    def __init__(
        self,
        model: BTGSeq2Seq,
        arguments: Seq2SeqTrainingArguments,
        optimisation: OptimisationConfig,
        tokenizer: PreTrainedTokenizerBase,
        train_data: EncodedBitext,
        dev_data: EncodedBitext | None = None,
        dev: Bitext | None = None,
        metrics: Metrics | None = None,
        recombined: RecombinedBatches | None = None,
    ) -> None:
        super().__init__(
            model,
            arguments,
            data_collator=Collator(model.backbone.pad),
            train_dataset=train_data,
            eval_dataset=dev_data,
        )
        self.remove_callback(PrinterCallback)
        model.backbone.choose_attention(arguments.device)
        self.model_accepts_loss_kwargs = True  # the loss is a mean over the tokens of all processes
        self.optimisation, self.tokenizer = optimisation, tokenizer
        self.train_data, self.dev_data = train_data, dev_data
        self.dev, self.metrics, self.recombined = dev, metrics, recombined
        self.checkpoints = Checkpoints(
            Path(str(arguments.output_dir)),
            optimisation.checkpoint_every,
            optimisation.average_checkpoints,
        )
        self.terms = TermMeans()
        self.indices: list[Tensor] = []  # of the sentences since the last update
        if not isinstance(model.objective, BTGObjective):
            raise UserError("the trainer needs a model whose objective is a BTGObjective")
        self.objective: BTGObjective = model.objective

    # ---- data -------------------------------------------------------------------------------

    def get_train_dataloader(self) -> DataLoader[Example]:
        sampler = BucketSampler(
            self.train_data.lengths,
            **self.optimisation.batch,
            seed=self.args.seed,
            num_replicas=self.args.world_size,
            rank=self.args.process_index,
        )
        return EpochLoader(self.train_data, batch_sampler=sampler, collate_fn=self.data_collator)

    def get_batch_samples(
        self, epoch_iterator: Iterator[Any], num_batches: int, device: torch.device
    ) -> tuple[list[Any], Tensor | int | None]:
        """The batches of an update; sentences may be recombined."""
        batches, count = super().get_batch_samples(epoch_iterator, num_batches, device)
        if self.recombined is None:
            return batches, count
        step = self.state.global_step
        if self.recombined.is_due(step):
            with self.accelerator.autocast():  # the precision of training
                self.recombined.collect(self.model)
        batches = [self.recombined(batch, step, part) for part, batch in enumerate(batches)]
        return batches, self._get_num_items_in_batch(batches, device)

    def _dev_batches(self, data: EncodedBitext) -> Iterator[dict[str, Any]]:
        """This process's share of the dev set, sentences of like length together."""
        collate: Any = self.data_collator
        lengths = data.lengths.max(1)
        # As much at once as in training, where processes and parts share a batch.
        shares = self.args.world_size * self.optimisation.parts
        limits = {name: max(1, most // shares) for name, most in self.optimisation.batch.items()}
        size, tokens = limits.get("batch_size", len(data)), limits.get("batch_tokens", math.inf)
        batches: list[list[int]] = [[]]
        for row in sorted(range(len(data)), key=lengths.__getitem__):
            count = len(batches[-1])
            if count == size or (count and (count + 1) * lengths[row] > tokens):
                batches.append([])
            batches[-1].append(row)
        for batch in batches[self.args.process_index :: self.args.world_size]:
            yield self._prepare_inputs(collate([data[row] for row in batch]))

    # ---- steps ------------------------------------------------------------------------------

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """AdamW: the parsers may have a learning rate of their own, norms and biases no decay."""
        if self.optimizer is None:
            model = self.model if model is None else model
            decaying = set(self.get_decay_parameter_names(model))
            rate = self.args.learning_rate
            parser_rate = self.optimisation.parser_learning_rate or rate
            groups: dict[tuple[bool, bool], list[nn.Parameter]] = defaultdict(list)
            for name, weight in model.named_parameters():
                groups[name.startswith(PARSERS), name in decaying].append(weight)
            kind, options = self.get_optimizer_cls_and_kwargs(self.args, self.model)
            self.optimizer = kind(
                [
                    {
                        "params": weights,
                        "lr": parser_rate if is_parser else rate,
                        "weight_decay": self.args.weight_decay * decays,
                    }
                    for (is_parser, decays), weights in groups.items()
                ],
                **options,
            )
        optimizer: torch.optim.Optimizer = self.optimizer
        return optimizer

    def training_step(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor:
        """The losses of the parts of a batch, whose gradients add up."""
        self.objective.step = self.state.global_step
        is_cut = self.objective.needs_trees(self.model) and "flat_only" not in inputs
        losses: list[Tensor] = []
        parts = parts_of(inputs, self.optimisation.parts if is_cut else 1)
        for number, part in enumerate(parts, 1):
            self.indices.append(part["index"])
            # Processes share their gradients once a batch.
            with nullcontext() if number == len(parts) else self.accelerator.no_sync(model):
                losses.append(super().training_step(model, part, num_items_in_batch))
        return torch.stack(losses).sum()

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        loss, output = super().compute_loss(model, inputs, True, num_items_in_batch)
        if not torch.isfinite(loss):  # before the backward pass: weights and averages are untouched
            raise self._not_finite("loss", loss.item(), self.indices[-1:])
        self.terms.add(output.terms, inputs["labels"])
        return (loss, output) if return_outputs else loss

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        norm = super()._get_grad_norm(model, grad_norm)  # type: ignore[no-untyped-call]
        if not math.isfinite(float(norm)):  # before the update
            raise self._not_finite("gradient", float(norm), self.indices)
        self.indices.clear()
        return norm

    def _not_finite(self, what: str, value: float, indices: list[Tensor]) -> UserError:
        lines = sorted(int(index) + 1 for batch in indices for index in batch)
        named = ", ".join(map(str, lines[:LINES_NAMED])) + ", ..." * (len(lines) > LINES_NAMED)
        if self.recombined is not None and self.recombined.recombiner is not None:
            named += " (or for sentences recombined from them)"
        last = self.checkpoints.last
        kept = f"the last checkpoint is {last}" if last else "no checkpoint was saved yet"
        return UserError(
            f"step {self.state.global_step + 1}: the {what} is {value} for lines {named} of "
            f"{self.train_data.name}; the weights were not changed by it, and {kept}. "
            "Look at these lines, or lower optimisation.learning_rate"
        )

    # ---- what is told -----------------------------------------------------------------------

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "train_runtime" in logs:  # times differ between runs that are otherwise the same
            return
        if "loss" in logs:
            logs |= self.terms.take() | (self.recombined.logged if self.recombined else {})
        super().log(logs, start_time)

    def evaluate(
        self,
        eval_dataset: Any = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = DEV.removesuffix("_"),
        **options: Any,
    ) -> dict[str, float]:
        """Measure the model on the dev set, or on other data, and log what it comes to."""
        measures = self.measure(eval_dataset)
        logs = {f"{metric_key_prefix}_{name}": value for name, value in measures.items()}
        self.log(logs)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, logs)
        return logs

    def measure(self, data: EncodedBitext | None = None) -> dict[str, float]:
        """Loss and terms on the dev set, and what the metrics measure; or the former on other data.

        The objective is that of the end of training, so that one evaluation compares with another
        whatever the schedules say. Nothing that training draws depends on evaluations.
        """
        metrics = self.metrics if data is None else None
        data = self.dev_data if data is None else data
        if data is None:
            raise UserError("there is no dev set to measure the model on")
        means = TermMeans()
        measured: list[Mapping[str, float]] = [{}]
        devices = [self.args.device] if self.args.device.type == "cuda" else []
        at_the_end = self.objective.at(self.args.max_steps)
        with torch.random.fork_rng(devices), evaluating(self.model), at_the_end:
            torch.manual_seed(self.args.seed)
            for inputs in self._dev_batches(data):
                with self.accelerator.autocast():  # a finished run is not prepared for it
                    output = self.model(**inputs)
                means.add({"loss": output.loss, **output.terms}, inputs["labels"])
            if metrics is not None and self.dev is not None and self.args.process_index == 0:
                measured = [metrics(self.model, self.tokenizer, self.dev)]
        broadcast_object_list(measured)
        return {name: float(value) for name, value in {**means.take(), **measured[0]}.items()}

    def _determine_best_metric(self, metrics: dict[str, float], trial: Any) -> bool:
        name = DEV + self.optimisation.metric
        if name not in metrics:
            measures = (name.removeprefix(DEV) for name in metrics if name.startswith(DEV))
            known = ", ".join(sorted(measures))
            raise UserError(
                f"optimisation.metric is {self.optimisation.metric!r}, but the dev set is measured "
                f"by {known}"
            )
        is_best, untaught = False, first_taught_step(self.objective.settings)
        # A model whose parsers will learn, but have not, is not the best, however it translates.
        if not self.state.global_step <= untaught < self.args.max_steps:
            is_best = super()._determine_best_metric(metrics, trial)
            if metrics[name] == self.state.best_metric:  # of equals the last: it has learned more
                self.state.best_global_step, is_best = self.state.global_step, True
        # The best is kept whenever it is found; and early stopping ends with a checkpoint.
        self.control.should_save |= is_best or self.control.should_training_stop
        return is_best

    # ---- checkpoints ------------------------------------------------------------------------

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        with self.checkpoints.writing(self.state.global_step, self.accelerator) as directory:
            self.save_model(str(directory), _internal_call=True)
            self._save_optimizer_and_scheduler(str(directory))
            self._save_rng_state(str(directory))
            if self.args.should_save:
                stateful = [*self.callback_handler.callbacks, self.control]
                states: Any = {  # as Hugging Face looks for them
                    type(callback).__name__: callback.state()
                    for callback in stateful
                    if isinstance(callback, ExportableState)
                }
                self.state.stateful_callbacks = states
                self.state.save_to_json(str(directory / STATE_FILE))
                if self.recombined is not None:
                    self.recombined.save(directory)
        if self.args.should_save:
            self.checkpoints.prune(self.state.best_global_step)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        directory = str(output_dir or self.args.output_dir)
        self.model.save_pretrained(directory, state_dict=state_dict)
        self.tokenizer.save_pretrained(directory)

    def _load_from_checkpoint(
        self, resume_from_checkpoint: str, model: nn.Module | None = None
    ) -> None:
        weights = load_weights(Path(resume_from_checkpoint))
        put_weights(self.model if model is None else model, weights)
        if self.recombined is not None:
            self.recombined.load(Path(resume_from_checkpoint))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with readable(checkpoint):
            super()._load_optimizer_and_scheduler(checkpoint)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with readable(checkpoint):
            super()._load_rng_state(checkpoint)

    def _load_callback_state(self) -> None:
        """Go on from a checkpoint, but by the settings of now: some of them may have changed."""
        super()._load_callback_state()
        self.state.compute_steps(self.args, self.args.max_steps)  # type: ignore[no-untyped-call]
        for callback in self.callback_handler.callbacks:
            if isinstance(callback, EarlyStopping) and self.optimisation.patience is not None:
                callback.early_stopping_patience = self.optimisation.patience
