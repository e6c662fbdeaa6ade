"""Settings of the optimiser, of batches and of what a run measures and keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from btg_seq2seq.checks import at_least, from_0_to_1
from btg_seq2seq.errors import UserError
from btg_seq2seq.options.wording import did_you_mean
from btg_seq2seq.training.settings.measures import MEASURES, greater_is_better

DEFAULT_BATCH_SIZE = 64
ENDING_SCHEDULES = ("linear", "cosine")  # the learning rate of each step depends on the last one


@dataclass
class OptimisationConfig:
    """Length and speed of training, batches, evaluations and checkpoints."""

    steps: int = 10_000
    """Updates of the weights. A run may be resumed with more; evaluations from before are then
    compared with others although schedules may end elsewhere."""

    batch_size: int | None = None
    """Sentence pairs in a batch, over all processes; 64 if batch_tokens is not given either."""

    batch_tokens: int | None = None
    """Or: tokens in a batch, of the longer side."""

    accumulate: int = 1
    """Batches for each update: more of them need no more memory."""

    parts: int = 3
    """Parts in which a batch is computed where phrases are learned, one after the other: it gives
    the same update, except for dropout, with less memory. A small model on short sentences is
    faster with 1."""

    learning_rate: float = 1e-3
    """1e-3 suits random weights; take 5e-5 to 3e-4 for pretrained ones."""

    parser_learning_rate: float | None = None
    """Learning rate of the three parsers; defaults to ``learning_rate``."""

    betas: tuple[float, float] = (0.9, 0.98)
    """Decay of AdamW's averages."""

    weight_decay: float = 0.0
    """Of AdamW; not for biases and norms."""

    clip: float = 1.0
    """Largest norm of a gradient; 0: no limit."""

    schedule: Literal["constant", "linear", "cosine", "inverse_sqrt"] = "constant"
    """How the learning rate goes on after its warm-up; ``linear`` and ``cosine`` end at 0."""

    warmup: int = 100
    """Updates during which the learning rate rises from 0. (Plain seq2seq training first:
    objective.flat_steps.)"""

    label_smoothing: float = 0.0
    """Share of the probability that the loss of tokens moves from the right token to all tokens
    alike; 0.1 is usual. It changes gradients only: every reported loss is without it."""

    ema: float | None = None
    """Decay of an exponential moving average of the weights, such as 0.999. The average is
    evaluated and saved in place of the weights. It takes as much memory as they do, and a
    checkpoint has both. ``None`` disables it."""

    bf16: bool = False
    """Compute in bfloat16; weights stay float32. Up to twice as fast where the processor has
    instructions for it (AMX or AVX-512 bf16), and slower elsewhere, which is reported."""

    log_every: int = 50
    """Updates between lines of the log."""

    eval_every: int = 500
    """Updates between evaluations on the dev set."""

    save_every: int | None = None
    """Updates between checkpoints; defaults to ``eval_every``. The best is always saved."""

    translate_dev: int = 200
    """Sentences of the dev set that ``btg train`` translates in every evaluation (flat, greedily)
    to measure bleu, chrf and exact_match; 0: none."""

    translate_dev_modes: list[Literal["flat", "cky"]] = field(default_factory=lambda: ["flat"])
    """Modes in which they are translated. ``[flat, cky]`` measures cky_bleu, cky_chrf and
    cky_exact_match too, once the parsers have learned. Cky takes many times as long: choose a
    smaller translate_dev."""

    bleu_tokenizer: str | None = None
    """sacreBLEU's tokenizer for bleu, such as ``13a``, ``zh``, ``char``, or ``none`` for a target
    whose words are separated by spaces already. Defaults to one that suits the script of the dev
    set."""

    metric: str = "loss"
    """Measure that chooses the best checkpoint: ``loss``, ``flat`` (log-loss of whole sentences per
    token), a metric of translations (``bleu``, ``chrf``, ``exact_match``; ``cky_bleu`` and so on
    with translate_dev_modes) or, with gold trees of the dev set, ``posterior_trees`` or
    ``prior_trees``. Evaluations before the parsers learn
    (objective.flat_steps, uniform_steps) do not count."""

    patience: int | None = None
    """Stop early after this many evaluations without a better one, counted from when the parsers
    learn; ``None`` disables it."""

    final: Literal["best", "last"] = "best"
    """Which checkpoint is the final model: the one that is best in metric (without a dev set, the
    last), or the last one. With a schedule that ends at 0 the last is seldom worse, and few dev
    sentences may not tell good checkpoints apart."""

    average_checkpoints: int = 1
    """The final model is the mean of the last checkpoints, this many of them; with 1, see final."""

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
        modes = self.translate_dev_modes
        if not modes or len(set(modes)) < len(modes):
            raise UserError("optimisation.translate_dev_modes must be [flat], [cky] or [flat, cky]")
        from_0_to_1("optimisation.label_smoothing", self.label_smoothing)
        from_0_to_1("optimisation.ema", self.ema, ends=False)
        for name in ("learning_rate", "parser_learning_rate"):
            rate = getattr(self, name)
            if rate is not None and not rate > 0:
                raise UserError(f"optimisation.{name} must be more than 0, not {rate}")

    def check_metric(self, has_trees: bool) -> None:
        """Refuse, before training, a metric that will not be measured."""
        measure = MEASURES.get(self.metric)
        if measure is None:
            known = sorted(MEASURES, key=lambda name: MEASURES[name].needs == "cky translations")
            raise UserError(
                f"optimisation.metric is {self.metric}, which not every evaluation measures; "
                f"choose one of {', '.join(known)}{did_you_mean(self.metric, MEASURES)}"
            )
        mode = {"translations": "flat", "cky translations": "cky"}.get(measure.needs or "")
        if mode and not self.translate_dev:
            raise UserError(
                f"optimisation.metric is {self.metric}, which needs translations of the dev set: "
                "set optimisation.translate_dev to more than 0"
            )
        if mode and mode not in self.translate_dev_modes:
            raise UserError(
                f"optimisation.metric is {self.metric}, which needs {mode} translations of the dev "
                f"set: add {mode} to optimisation.translate_dev_modes"
            )
        if measure.needs == "trees" and not has_trees:
            raise UserError(f"optimisation.metric is {self.metric}, which needs data.dev_trees")

    @property
    def batch(self) -> dict[str, int]:
        """The size of a batch, as ``BucketSampler`` takes it."""
        if self.batch_tokens is not None:
            return {"batch_tokens": self.batch_tokens}
        return {"batch_size": self.batch_size or DEFAULT_BATCH_SIZE}

    @property
    def checkpoint_every(self) -> int:
        """Updates between checkpoints."""
        return self.save_every or self.eval_every

    @property
    def greater_is_better(self) -> bool:
        """Direction of the metric."""
        return greater_is_better(self.metric)
