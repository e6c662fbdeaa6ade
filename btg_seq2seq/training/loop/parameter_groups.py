"""Groups of weights with a learning rate and a decay of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from torch import nn

from btg_seq2seq.training.settings.optimisation import OptimisationConfig

PARSERS = ("prior.", "posterior.", "leaves.")  # prefixes of the parsers' weights


def parameter_groups(
    model: nn.Module, decaying: Collection[str], settings: OptimisationConfig
) -> list[dict[str, Any]]:
    """Group weights, as optimisers of torch take them: parsers or not, decaying or not."""
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = defaultdict(list)
    for name, weight in model.named_parameters():
        groups[name.startswith(PARSERS), name in decaying].append(weight)
    rate = settings.learning_rate
    parser_rate = settings.parser_learning_rate or rate
    return [
        {
            "params": weights,
            "lr": parser_rate if is_parser else rate,
            "weight_decay": settings.weight_decay * decays,
        }
        for (is_parser, decays), weights in groups.items()
    ]
