"""Settings of the optimiser, batches, evaluations and checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from btg_seq2seq.checks import at_least
from btg_seq2seq.errors import UserError
from btg_seq2seq.options.wording import did_you_mean

DEFAULT_BATCH_SIZE = 64
# Measures of which less is better, beside every loss: its parts, and those of custom metrics.
LESS_IS_BETTER = {"flat", "phrases", "reverse", "parsing", "divergence"}
LESS_IS_BETTER |= {"prior", "posterior", "leaves", "perplexity", "ter", "aer"}
LOSSES = ("loss", "flat")  # in every evaluation; other terms depend on the estimator and step
TRANSLATIONS = ("bleu", "chrf", "exact_match")  # measures of translate_dev sentences
TREES = ("posterior_trees", "prior_trees")  # measures of gold trees
ENDING_SCHEDULES = ("linear", "cosine")  # each learning rate depends on the number of steps


@dataclass
class OptimisationConfig:
    """Optimiser, batches, evaluations and checkpoints."""

    steps: int = 10_000
    """Updates of the weights. A run may be resumed with more; earlier evaluations still count for
    the best checkpoint, although schedules may end elsewhere."""

    batch_size: int | None = None
    """Sentence pairs per batch, over all processes. Defaults to 64 without batch_tokens."""

    batch_tokens: int | None = None
    """Alternatively, tokens per batch, counted on the longer side."""

    accumulate: int = 1
    """Batches per update; more of them need no more memory."""

    parts: int = 3
    """Parts in which a batch is computed, one after the other, when phrases are learned. The update
    is the same, except for dropout, and needs less memory. A small model on short sentences is
    faster with 1."""

    learning_rate: float = 1e-3
    """Learning rate; 1e-3 suits random weights, 5e-5 to 3e-4 pretrained ones."""

    parser_learning_rate: float | None = None
    """Learning rate of the three parsers. Defaults to learning_rate."""

    betas: tuple[float, float] = (0.9, 0.98)
    """Decay rates of AdamW's averages."""

    weight_decay: float = 0.0
    """Weight decay of AdamW; biases and norms have none."""

    clip: float = 1.0
    """Largest norm of the gradient; 0 disables clipping."""

    schedule: Literal["constant", "linear", "cosine", "inverse_sqrt"] = "constant"
    """Learning rate after the warm-up; ``linear`` and ``cosine`` end at 0."""

    warmup: int = 100
    """Updates during which the learning rate rises from 0. (For plain seq2seq training first, see
    objective.flat_steps.)"""

    bf16: bool = False
    """Compute in bfloat16; weights stay float32. It pays from a hidden_size of about 256, or less
    where segmentations are summed."""

    log_every: int = 50
    """Updates between entries of the log."""

    eval_every: int = 500
    """Updates between evaluations on the dev set."""

    save_every: int | None = None
    """Updates between checkpoints. Defaults to eval_every. The best one is always saved."""

    translate_dev: int = 200
    """Dev sentences that ``btg train`` translates at every evaluation (flat, greedily) to measure
    bleu, chrf and exact_match; 0 disables it."""

    metric: str = "loss"
    """Dev score by which the best checkpoint is chosen: ``loss``, ``flat`` (log-loss of whole
    sentences, per token), ``bleu``, ``chrf``, ``exact_match`` or, with gold trees of the dev set,
    ``posterior_trees`` or ``prior_trees``. Losses are minimised, all others maximised. Evaluations
    before the parsers learn (objective.flat_steps, uniform_steps) do not count."""

    patience: int | None = None
    """Stop after this many evaluations without a new best, counted from when the parsers learn.
    By default, training never stops early."""

    final: Literal["best", "last"] = "best"
    """Checkpoint that becomes the final model: the best one by metric (without a dev set, the last)
    or the last one. With a schedule that ends at 0 the last is seldom worse, and a small dev set
    may not tell good checkpoints apart."""

    average_checkpoints: int = 1
    """Number of last checkpoints whose mean is the final model; with 1, see final."""

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_tokens is not None:
            raise UserError(
                "give optimisation.batch_size or batch_tokens, one of the two, and null for the "
                "other, such as --optimisation.batch-tokens null"
            )
        counts = ("steps", "accumulate", "parts", "log_every", "eval_every", "average_checkpoints")
        for name in (*counts, "batch_size", "batch_tokens", "save_every", "patience"):
            at_least(1, f"optimisation.{name}", getattr(self, name))
        for name in ("clip", "weight_decay", "warmup", "translate_dev"):
            at_least(0, f"optimisation.{name}", getattr(self, name))
        for name in ("learning_rate", "parser_learning_rate"):
            rate = getattr(self, name)
            if rate is not None and not rate > 0:
                raise UserError(f"optimisation.{name} must be more than 0, not {rate}")

    def check_metric(self, has_trees: bool) -> None:
        """Refuse, before training, a metric that ``DevMetrics`` does not measure."""
        metric = self.metric
        if metric in TRANSLATIONS and not self.translate_dev:
            raise UserError(
                f"optimisation.metric is {metric}, which needs translations of the dev set: set "
                "optimisation.translate_dev to more than 0"
            )
        if metric in TREES and not has_trees:
            raise UserError(f"optimisation.metric is {metric}, which needs data.dev_trees")
        if metric not in (*LOSSES, *TRANSLATIONS, *TREES):
            known = (*LOSSES, *TRANSLATIONS, *TREES)
            raise UserError(
                f"optimisation.metric is {metric}, which evaluations do not measure: choose one "
                f"of {', '.join(known)}{did_you_mean(metric, known)}"
            )

    @property
    def batch(self) -> dict[str, int]:
        """Size of a batch, as ``BucketSampler`` takes it."""
        if self.batch_tokens is not None:
            return {"batch_tokens": self.batch_tokens}
        return {"batch_size": self.batch_size or DEFAULT_BATCH_SIZE}

    @property
    def checkpoint_every(self) -> int:
        """Updates between checkpoints."""
        return self.save_every or self.eval_every

    @property
    def greater_is_better(self) -> bool:
        """Return whether the metric is maximised."""
        return not (self.metric.endswith("loss") or self.metric in LESS_IS_BETTER)
