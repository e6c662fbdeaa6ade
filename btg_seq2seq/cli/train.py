"""``btg train``: from a YAML file and parallel text to a model that translates."""

from __future__ import annotations

import os
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence

import torch
from jsonargparse import DefaultHelpFormatter

from btg_seq2seq.cli.main import INTERRUPTED
from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.training.config import TrainConfig, config_of, config_parser
from btg_seq2seq.training.progress import TrainingInterrupted
from btg_seq2seq.training.run import TrainResult, train

DESCRIPTION = """Train a model on parallel text.

  btg train config.yaml
  btg train config.yaml --optimisation.learning_rate 3e-4 --output runs/slower
  btg train config.yaml --resume
  torchrun --nproc-per-node 2 -m btg_seq2seq.cli.main train config.yaml

Every field can be set in the file and on the command line, which wins. In the file, what has a dot
here is nested ("model: {layers: 3}"). OUTPUT will hold the model, config.yaml with all settings as
they were, metrics.jsonl, curves for TensorBoard, and the best and the last checkpoint.
"""


FLAGS = ("--resume", "--overwrite")


class Formatter(RawDescriptionHelpFormatter, DefaultHelpFormatter):
    """Defaults and types of fields, and lines as they are written above."""


def main(arguments: Sequence[str]) -> int:
    """Train, and say what to do with the model."""
    parser = config_parser(
        prog="btg train",
        usage="btg train CONFIG.yaml [--resume | --overwrite] [--FIELD VALUE ...]",
        description=DESCRIPTION,
        formatter_class=Formatter,
    )
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument(
        "--resume", action="store_true", help="Continue the run in OUTPUT from its last checkpoint."
    )
    existing.add_argument(
        "--overwrite", action="store_true", help="Remove the run in OUTPUT and start anew."
    )
    parsed = parser.parse_args(with_config_named(arguments))
    config = config_of(parser, parsed)
    metrics = DevMetrics(config.optimisation.translate_dev)
    metrics.check(config.optimisation.metric, has_trees=config.data.dev_trees is not None)
    try:
        result = train(
            config,
            metrics=metrics,
            resume=parsed.resume,
            overwrite=parsed.overwrite,
        )
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"{error}\nSmaller batches (optimisation.batch_size or batch_tokens, with "
            "optimisation.accumulate) or more optimisation.parts need less memory."
        ) from error
    except TrainingInterrupted as interruption:
        print(f"btg train: {interruption}", file=sys.stderr)
        return INTERRUPTED
    if int(os.environ.get("RANK", 0)) == 0:
        print(summary(result, config))
    return 0


def with_config_named(arguments: Sequence[str]) -> list[str]:
    """``CONFIG``, wherever it stands, as ``--config CONFIG`` before the fields, which win."""
    given, before = list(arguments), ""
    for place, argument in enumerate(given):
        is_value = before.startswith("--") and "=" not in before and before not in FLAGS
        if not is_value and not argument.startswith("-"):
            return ["--config", argument, *given[:place], *given[place + 1 :]]
        before = argument
    return given


def summary(result: TrainResult, config: TrainConfig) -> str:
    """Where the model is, how good, and the next command."""
    source = config.data.dev_source or config.data.train_source
    kept = ", ".join(map(str, result.averaged_steps))
    reader = "zcat" if str(source).endswith(".gz") else "cat"
    return "\n".join(
        [
            f"model: {result.directory} (of step {kept} of {result.steps})",
            f"try it: {reader} {source} | btg translate {result.directory} -",
            f"curves: tensorboard --logdir {result.directory}",
        ]
    )
