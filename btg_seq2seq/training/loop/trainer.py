"""The trainer: Hugging Face's ``Seq2SeqTrainer`` with batches, logs and checkpoints of our own.

Steps, accumulation, schedules, precision and processes are Hugging Face's. Ours are length-bucketed
batches that depend on (seed, epoch) alone, a learning rate for the parsers, the logged terms of the
objective, atomic checkpoints, and errors that name the lines of a batch.
"""

# The order of calls in a run; methods marked with * are overridden here.
#
#   train()
#     get_train_dataloader*                      batches of similar length
#     create_optimizer*                          a learning rate for the parsers
#     if resumed:
#       _load_from_checkpoint*                   weights, recombined sentences
#       _load_optimizer_and_scheduler*
#       _load_callback_state*                    and then the settings of this run
#       _load_rng_state*                         before the first batch
#     for each update:
#       get_batch_samples*                       its batches: recombined, taught, sampled tokens
#       for each batch:
#         on_step_begin                          callbacks: the directory is prepared
#         training_step*                         sets objective.step; cuts the batch into parts
#           for each part:
#             compute_loss*                      BTGSeq2Seq.forward -> BTGObjective -> Estimator
#             backward
#       _get_grad_norm*                          clips; stops if the gradient is not finite
#       optimizer.step, scheduler.step           and the average of the weights
#       on_step_end                              callbacks: signals, log with every checkpoint
#       log*                                     every log_every updates: means of the terms
#       evaluate*                                every eval_every updates
#         measure                                loss and terms on the dev set, and the metrics
#         log*
#         on_evaluate                            callbacks: example translations, early stopping
#       _determine_best_metric*                  evaluations before the parsers learn do not count
#       _save_checkpoint*                        every save_every updates and when it is the best
#         save_model -> _save*                   model, decoding defaults, tokenizer

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
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
)
from transformers.trainer_callback import ExportableState

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.modes import evaluating
from btg_seq2seq.recombination.batches import RecombinedBatches
from btg_seq2seq.text import Bitext, BucketSampler, Collator, EncodedBitext, Example
from btg_seq2seq.text.batches import parts_of
from btg_seq2seq.text.length_batches import length_batches
from btg_seq2seq.training.files.checkpoints import (
    Checkpoints,
    load_weights,
    put_weights,
    readable,
)
from btg_seq2seq.training.files.names import DEV
from btg_seq2seq.training.loop.parameter_groups import parameter_groups
from btg_seq2seq.training.loop.progress import EarlyStopping
from btg_seq2seq.training.loop.sampled_batches import SampledBatches
from btg_seq2seq.training.loop.taught_batches import TaughtBatches
from btg_seq2seq.training.loop.term_means import TermMeans
from btg_seq2seq.training.loop.weight_average import WeightAverage
from btg_seq2seq.training.objective.objective import BTGObjective
from btg_seq2seq.training.objective.phases import first_parser_step
from btg_seq2seq.training.settings.optimisation import OptimisationConfig

STATE_FILE = "trainer_state.json"
LINES_NAMED = 20  # in an error

# Private methods of Hugging Face's trainer. A test fails if one is renamed or has new parameters.
OVERRIDDEN = (
    *("_get_grad_norm", "_determine_best_metric", "_save_checkpoint", "_save"),
    *("_load_from_checkpoint", "_load_optimizer_and_scheduler"),
    *("_load_rng_state", "_load_callback_state"),
)
CALLED = (
    *("_prepare_inputs", "_get_num_items_in_batch"),
    *("_save_optimizer_and_scheduler", "_save_rng_state"),
)

Metrics = Callable[[BTGSeq2Seq, PreTrainedTokenizerBase, Bitext], Mapping[str, float]]


class EpochLoader(DataLoader[Example]):
    """A loader whose sampler depends on the epoch."""

    batch_sampler: BucketSampler

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch."""
        self.batch_sampler.set_epoch(epoch)


class BTGTrainer(Seq2SeqTrainer):
    """Trains a ``BTGSeq2Seq`` on a bitext.

    ``metrics`` measures more than the loss on the dev set. It is called with the model, the
    tokenizer and the bitext ``dev``, of which ``dev_data`` holds the tokens.
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
        taught: TaughtBatches | None = None,
        sampled: SampledBatches | None = None,
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
        self.dev, self.metrics = dev, metrics
        self.recombined, self.taught, self.sampled = recombined, taught, sampled
        self.average = WeightAverage(model, optimisation.ema) if optimisation.ema else None
        if self.average is not None:
            self.add_callback(self.average)
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
        """Return the batches of an update: recombined or taught, and in sampled tokens."""
        batches, count = super().get_batch_samples(epoch_iterator, num_batches, device)
        step = self.state.global_step
        if self.recombined is not None:
            if self.recombined.is_due(step):
                with self.accelerator.autocast():  # the precision of training
                    self.recombined.collect(self.model)
            batches = [self.recombined(batch, step, part) for part, batch in enumerate(batches)]
        if self.taught is not None:
            batches = [self.taught(batch, step) for batch in batches]
        if self.sampled is not None:
            batches = [self.sampled(batch, step, part) for part, batch in enumerate(batches)]
        if self.recombined is not None or self.sampled is not None:
            count = self._get_num_items_in_batch(batches, device)
        return batches, count

    def _dev_batches(self, data: EncodedBitext) -> Iterator[dict[str, Any]]:
        """Return this process's share of the dev set, sentences of similar length together."""
        collate: Any = self.data_collator
        # As much at once as in training, where processes and parts share a batch.
        shares = self.args.world_size * self.optimisation.parts
        limits = {name: max(1, most // shares) for name, most in self.optimisation.batch.items()}
        size, tokens = limits.get("batch_size", math.inf), limits.get("batch_tokens", math.inf)
        batches = length_batches(
            data.lengths.max(1),
            lambda count, longest: count <= size and count * longest <= tokens,
        )
        for batch in islice(batches, self.args.process_index, None, self.args.world_size):
            yield self._prepare_inputs(collate([data[row] for row in batch]))

    # ---- steps ------------------------------------------------------------------------------

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Create AdamW: with a learning rate for the parsers, without decay of norms and biases."""
        if self.optimizer is None:
            model = self.model if model is None else model
            decaying = set(self.get_decay_parameter_names(model))
            kind, options = self.get_optimizer_cls_and_kwargs(self.args, self.model)
            self.optimizer = kind(parameter_groups(model, decaying, self.optimisation), **options)
        optimizer: torch.optim.Optimizer = self.optimizer
        return optimizer

    def training_step(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor:
        """Compute a batch in parts, whose gradients add up."""
        self.objective.step = self.state.global_step
        flat_only = inputs.get("flat_only")
        is_cut = self.objective.needs_trees(self.model) and (
            flat_only is None or not bool(flat_only.all())
        )
        losses: list[Tensor] = []
        parts = parts_of(inputs, self.optimisation.parts if is_cut else 1)
        for number, part in enumerate(parts, 1):
            self.indices.append(part["index"])
            # Processes share their gradients once per batch.
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

    # ---- logs and evaluations ---------------------------------------------------------------

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
        """Measure the model on the dev set, or on other data, and log the result."""
        with self.averaged():
            measures = self.measure(eval_dataset)
            logs = {f"{metric_key_prefix}_{name}": value for name, value in measures.items()}
            self.log(logs)
            given = (self.args, self.state, self.control, logs)
            self.control = self.callback_handler.on_evaluate(*given)
        return logs

    def averaged(self) -> AbstractContextManager[None]:
        """Use the average of the weights within a ``with`` block, if there is one."""
        return nullcontext() if self.average is None else self.average.in_use()

    def measure(self, data: EncodedBitext | None = None) -> dict[str, float]:
        """Return loss, terms and metrics on the dev set, or loss and terms on other data.

        The objective is that of the end of training, so that evaluations can be compared whatever
        the schedules are. The random numbers of training do not depend on evaluations.
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
        name, untaught = DEV + self.optimisation.metric, first_parser_step(self.objective.settings)
        # A model whose parsers will learn, but have not, is not the best, however it translates.
        counts = not self.state.global_step <= untaught < self.args.max_steps
        if counts and name not in metrics:
            measures = (name.removeprefix(DEV) for name in metrics if name.startswith(DEV))
            known = ", ".join(sorted(measures))
            raise UserError(
                f"optimisation.metric is {self.optimisation.metric!r}, but the dev set is measured "
                f"by {known}"
            )
        is_best = False
        if counts:
            is_best = super()._determine_best_metric(metrics, trial)
            if metrics[name] == self.state.best_metric:  # of equals the last: it has learned more
                self.state.best_global_step, is_best = self.state.global_step, True
        # The best is kept whenever it is found; and early stopping ends with a checkpoint.
        self.control.should_save |= is_best or self.control.should_training_stop
        return is_best

    # ---- checkpoints ------------------------------------------------------------------------

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        with self.checkpoints.writing(self.state.global_step, self.accelerator) as directory:
            with self.averaged():
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
                if self.average is not None:
                    self.average.save(directory)
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
        if self.average is not None:
            with readable(resume_from_checkpoint):
                self.average.load(Path(resume_from_checkpoint))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with readable(checkpoint):
            super()._load_optimizer_and_scheduler(checkpoint)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with readable(checkpoint):
            super()._load_rng_state(checkpoint)

    def _load_callback_state(self) -> None:
        """Restore callbacks, but with the settings of this run: some may have changed."""
        super()._load_callback_state()
        self.state.compute_steps(self.args, self.args.max_steps)  # type: ignore[no-untyped-call]
        for callback in self.callback_handler.callbacks:
            if isinstance(callback, EarlyStopping) and self.optimisation.patience is not None:
                callback.early_stopping_patience = self.optimisation.patience
