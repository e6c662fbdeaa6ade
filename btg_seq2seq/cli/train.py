"""``btg train``: from a YAML file and parallel text to a model that translates."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jsonargparse import Namespace

from btg_seq2seq.console.arguments import add_quiet_option, silence_warnings
from btg_seq2seq.console.output import check_directory
from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation import metrics  # noqa: F401  makes the names of metrics known
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.training.settings.config import TrainConfig, config_parser, parse_config

if TYPE_CHECKING:
    from btg_seq2seq.training.run import TrainResult

DESCRIPTION = """Train a model on parallel text.

  btg train config.yaml
  btg train config.yaml --optimisation.learning-rate 3e-4 --output runs/slower
  btg train config.yaml --resume
  torchrun --nproc-per-node 2 -m btg_seq2seq.cli.main train config.yaml

Every field can be set in the file and on the command line, which wins. In the file, what has a dot
here is nested ("model: {layers: 3}"). OUTPUT will hold the model, config.yaml with all settings as
they were, metrics.jsonl, curves for TensorBoard, and the best and the last checkpoint.
"""


def main(arguments: Sequence[str]) -> int:
    """Train, and say what to do with the model."""
    config, options = parse_config(_parser(), arguments)
    config.data.check_given()
    config.optimisation.check_metric(has_trees=config.data.dev_trees is not None)
    check_directory("--output", config.output)
    return _train(config, options)


def _train(config: TrainConfig, options: Namespace) -> int:
    silence_warnings(options.quiet)
    import torch

    from btg_seq2seq.evaluation.dev_examples import DevExamples
    from btg_seq2seq.evaluation.dev_metrics import DevMetrics
    from btg_seq2seq.training import run
    from btg_seq2seq.training.loop.progress import TrainingInterrupted

    try:
        result = run.train(
            config,
            metrics=DevMetrics(
                config.optimisation.translate_dev,
                config.optimisation.bleu_tokenizer,
                config.optimisation.translate_dev_modes,
            ),
            examples=DevExamples(modes=config.optimisation.translate_dev_modes),
            resume=options.resume,
            overwrite=options.overwrite,
            quiet=options.quiet,
        )
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"{error}\nSmaller batches (optimisation.batch_size or batch_tokens, with "
            "optimisation.accumulate) or more optimisation.parts need less memory."
        ) from error
    except TrainingInterrupted as interruption:
        print(f"btg train: {interruption}", file=sys.stderr)
        return interruption.status
    if int(os.environ.get("RANK", 0)) == 0 and not options.quiet:
        print(summary(result, config))
    return 0


def _parser() -> OptionParser:
    parser = config_parser(
        usage="btg train CONFIG [--resume | --overwrite] [--quiet] [--FIELD VALUE ...]",
        description=DESCRIPTION,
    )
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument(
        "--resume", action="store_true", help="Continue the run in OUTPUT from its last checkpoint."
    )
    existing.add_argument(
        "--overwrite", action="store_true", help="Remove the run in OUTPUT and start again."
    )
    add_quiet_option(parser)
    return parser


def summary(result: TrainResult, config: TrainConfig) -> str:
    """The place of the model, its score, and the next command."""
    source = config.data.dev_source or config.data.train_source
    kept = ", ".join(map(str, result.averaged_steps))
    reader = "zcat" if str(source).endswith(".gz") else "cat"
    return "\n".join(
        [
            f"model: {result.directory} (of step {kept} of {result.steps})",
            f"try it: {reader} {source} | btg translate {result.directory} -",
            f"see it: btg report {result.directory}",
        ]
    )
