"""An exponential moving average of the weights: what is evaluated and saved in their place.

The average takes as much memory as the weights. A checkpoint holds both, so a resumed run goes on
exactly: the average is its model, and the weights in training have a file of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from btg_seq2seq.errors import UserError

WEIGHTS_FILE = "weights_in_training.safetensors"


class WeightAverage(TrainerCallback):
    """Averages the weights of a model after each update.

    Early in a run the decay is smaller, ``(1 + step) / (10 + step)``, so that the average forgets
    the initial weights.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = dict(model.named_parameters())  # tied weights once
        self.averages = [weight.detach().clone() for weight in self.weights.values()]

    def on_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Add the weights of an update."""
        step = state.global_step  # counted from 0
        self.add(min(self.decay, (1 + step) / (10 + step)))

    @torch.no_grad()
    def add(self, decay: float) -> None:
        """Compute ``average = decay * average + (1 - decay) * weights``."""
        weights = [weight.detach() for weight in self.weights.values()]
        average: Any = get_ema_multi_avg_fn
        average(decay)(self.averages, weights, 1)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Give the model the averages within a ``with`` block; nothing is copied."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _exchange(self) -> None:
        for place, weight in enumerate(self.weights.values()):
            weight.data, self.averages[place] = self.averages[place], weight.data

    def save(self, directory: Path) -> None:
        """Write the weights in training into a checkpoint, whose model is the average."""
        weights = {name: weight.detach().contiguous() for name, weight in self.weights.items()}
        save_file(weights, directory / WEIGHTS_FILE)

    @torch.no_grad()
    def load(self, directory: Path) -> None:
        """Continue from a checkpoint whose model, the average, has been loaded already."""
        path = directory / WEIGHTS_FILE
        saved = load_file(path)
        shapes = {name: weight.shape for name, weight in saved.items()}
        if shapes != {name: weight.shape for name, weight in self.weights.items()}:
            raise UserError(f"{path} does not hold the weights of this model")
        for average, (name, weight) in zip(self.averages, self.weights.items(), strict=True):
            average.copy_(weight)
            weight.copy_(saved[name])
