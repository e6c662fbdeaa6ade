"""Models in evaluation mode for a while, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """No gradients, no dropout; afterwards, also after an error, the mode is as before."""
    was_training = model.training
    model.train(False)
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)
