"""The settings of a training run: a YAML file, a command line and Python, from one set of classes.

The text under a field is its help on the command line. A key that is unknown is an error. What a
run was really started with is saved as ``config.yaml`` beside the model and can be run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]
from jsonargparse import Namespace

from btg_seq2seq.checks import at_least, from_0_to_1
from btg_seq2seq.errors import UsageError, UserError
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.options.yaml_file import YamlFile
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.text.bitext import TooLong, write_lines
from btg_seq2seq.training.objective.estimator import describe_estimator, estimator_names
from btg_seq2seq.training.objective.phases import (
    Phase,
    first_taught_step,
    learns_trees,
    phase_at,
)
from btg_seq2seq.training.settings.objective import ObjectiveSettings
from btg_seq2seq.training.settings.optimisation import (
    ENDING_SCHEDULES,
    TRANSLATIONS,
    OptimisationConfig,
)

CONFIG_FILE = "config.yaml"  # not config.json, which is Hugging Face's
OUTPUT_HELP = "Directory for the model, its checkpoints and logs."
UNIFORM_STEPS = 300  # what random weights need to find the trees of the toy task for every seed

# What may differ when a run is continued: it changes how far training goes and what is kept and
# shown of it, not where it leads. (With some schedules, the number of steps decides that too.)
# Files may have moved: what is in them is compared by checksums.
MAY_CHANGE = {
    "output",
    "threads",
    *(f"data.{side}" for side in ("train_source", "train_target", "dev_source", "dev_target")),
    *(f"data.{name}" for name in ("train_trees", "train_segmentations", "dev_trees")),
    "recombination.exclude",
    "model.flat_weight",
    "model.segment_rate",
    "optimisation.steps",
    "optimisation.eval_every",
    "optimisation.save_every",
    "optimisation.log_every",
    "optimisation.translate_dev",
    "optimisation.patience",
    "optimisation.final",
    "optimisation.average_checkpoints",
}


@dataclass
class DataConfig:
    """Parallel text: files with one sentence a line, plain or .gz, UTF-8."""

    train_source: str | None = None
    """Sentences to learn from."""

    train_target: str | None = None
    """Their translations, line by line."""

    train_trees: str | None = None
    """Gold trees of these, as brackets over tokens, for the estimator ``gold``."""

    train_segmentations: str | None = None
    """For the same: lengths in tokens of the target phrases, one for each leaf of a tree."""

    dev_source: str | None = None
    """Sentences to watch training with; nothing: no evaluations, so no best checkpoint."""

    dev_target: str | None = None
    """Their translations."""

    dev_trees: str | None = None
    """Gold trees of these, as brackets over words, to measure the parsers with."""

    max_pairs: int | None = None
    """Use only so many pairs of the training data, the first ones."""

    max_length: int | None = 256
    """Most tokens of a side, its end token included."""

    too_long: TooLong = "skip"
    """What happens to longer training pairs: ``skip``, ``keep`` or ``error``. What is longer than
    the model can read is never kept."""

    def __post_init__(self) -> None:
        pairs = ("train_source", "train_target"), ("dev_source", "dev_target")
        for pair in (*pairs, ("train_trees", "train_segmentations")):
            given = [name for name in pair if getattr(self, name) is not None]
            if len(given) == 1:
                (other,) = {*pair} - {*given}
                raise UserError(f"data.{given[0]} needs data.{other} beside it")
        if self.dev_trees is not None and self.dev_source is None:
            raise UserError("data.dev_trees needs data.dev_source and data.dev_target beside it")
        at_least(1, "data.max_pairs", self.max_pairs)
        at_least(2, "data.max_length", self.max_length)

    def check_given(self) -> None:
        """Refuse settings without texts to learn from."""
        if self.train_source is None or self.train_target is None:
            raise UserError("nothing to train on: set data.train_source and data.train_target")


@dataclass
class TokenizerConfig:
    """How text becomes tokens."""

    kind: Literal["word", "bpe", "unigram", "pretrained"] | None = None
    """``word`` for toy tasks, ``bpe`` or ``unigram`` trained on the bitext, ``pretrained`` for an
    existing one. Nothing: that of the pretrained model, or ``bpe`` if there is none."""

    vocabulary_size: int | None = None
    """Tokens of a trained tokenizer; nothing: every word, or 8000 pieces."""

    path: str | None = None
    """Directory or hub name of a pretrained tokenizer, if it is not the model's own."""


@dataclass
class ModelConfig:
    """The encoder-decoder and the parsers around it."""

    backbone: str | None = None
    """A pretrained encoder-decoder: hub name or directory. Nothing: random weights, of the sizes
    below."""

    init_from: str | None = None
    """Continue with the encoder-decoder of a plain Hugging Face or a BTG model directory, and with
    its tokenizer; the parsers start anew."""

    source_language: str | None = None
    """Language code of the source, for models that have such codes (mBART, M2M-100, NLLB)."""

    target_language: str | None = None
    """Language code of the target."""

    hidden_size: int = 512
    """Width of the states (random weights)."""

    layers: int = 6
    """Layers of the encoder, and of the decoder (random weights)."""

    heads: int = 8
    """Attention heads (random weights)."""

    feed_forward_size: int | None = None
    """Width of the feed-forward layers (random weights); nothing: four times the states'."""

    dropout: float | None = None
    """Share of activations that training drops; nothing: as in the pretrained model, or 0.1."""

    position_spread: float | None = None
    """Standard deviation of the first weights of relative positions (random weights); nothing:
    T5's, the inverse root of the width. With 1, phrases that have the same words in another order
    are told apart from few examples; the estimator ``paper`` then finds fewer trees."""

    max_segments: int = 4
    """Most phrases that a sentence is cut into."""

    max_phrase_length: int | None = 16
    """Longest phrase in tokens, on either side (more where a sentence is too long for it); nothing:
    no limit, and one long phrase and some short ones may explain any sentence."""

    max_grammar_length: int = 100
    """A sentence with more tokens on a side trains flat, without trees."""

    phrase_encoding: Literal["alone", "sentence"] = "alone"
    """``alone``: a phrase is encoded without its neighbours; ``sentence``, as in the paper: by its
    part of the sentence's states."""

    scorer_width: int = 128
    """Hidden units of the parsers."""

    share_scorers: bool = False
    """One scorer for all three parsers, which still read different states: fewer weights."""

    residual_posterior: bool = True
    """The parser that sees both sides adds to the scores of the one that sees the source."""

    flat_weight: float = 0.5
    """In cky decoding, the probability that a sentence is translated as a whole, unless told
    otherwise; that of training is objective.flat_weight."""

    segment_rate: float = 0.5
    """In cky decoding, the rate of the geometric distribution over the number of phrases; that of
    training is objective.segment_rate."""

    def __post_init__(self) -> None:
        if self.backbone is not None and self.init_from is not None:
            raise UserError("give model.backbone or model.init_from, not both")
        sizes = ("hidden_size", "layers", "heads", "feed_forward_size", "scorer_width")
        for name in (*sizes, "max_segments", "max_phrase_length", "max_grammar_length"):
            at_least(1, f"model.{name}", getattr(self, name))
        for name in ("flat_weight", "dropout"):
            from_0_to_1(f"model.{name}", getattr(self, name))
        from_0_to_1("model.segment_rate", self.segment_rate, ends=False)
        spread = self.position_spread
        if spread is not None and not spread > 0:
            raise UserError(f"model.position_spread must be more than 0, not {spread}")
        if (self.source_language is None) != (self.target_language is None):
            raise UserError("give both of model.source_language and model.target_language")

    @property
    def pretrained(self) -> str | None:
        """Where weights come from, if they are not random."""
        return self.backbone or self.init_from

    @property
    def unused(self) -> list[str]:
        """What is set for random weights, but the weights are not random."""
        names = ("hidden_size", "layers", "heads", "feed_forward_size", "position_spread")
        is_set = [name for name in names if getattr(self, name) != getattr(ModelConfig, name)]
        return [f"model.{name}" for name in is_set] if self.pretrained else []


@dataclass
class TrainConfig:
    """The run."""

    output: str
    """Directory for the model, its checkpoints and logs."""

    data: DataConfig = field(default_factory=DataConfig)
    """Parallel text: files with one sentence a line, plain or .gz, UTF-8"""

    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    """How text becomes tokens"""

    model: ModelConfig = field(default_factory=ModelConfig)
    """The encoder-decoder and the parsers around it"""

    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)
    """How a loss is made of a batch"""

    optimisation: OptimisationConfig = field(default_factory=OptimisationConfig)
    """How long and how fast to learn, and what to keep"""

    recombination: RecombinationConfig = field(default_factory=RecombinationConfig)
    """Sentences recombined from the model's own phrases, to teach the flat mode"""

    seed: int = 0
    """Of the weights, the order of the data and all that is drawn at random."""

    threads: int | None = None
    """Threads of the CPU; nothing: as torch decides."""

    def __post_init__(self) -> None:
        at_least(0, "seed", self.seed)
        at_least(1, "threads", self.threads)
        own = self.tokenizer.path or self.model.pretrained
        if self.tokenizer.kind == "pretrained" and own is None:
            raise UserError("tokenizer.kind is pretrained: give tokenizer.path or model.backbone")
        if self.tokenizer.kind not in (None, "pretrained") and own is not None:
            raise UserError(
                f"tokenizer.kind is {self.tokenizer.kind}, which is trained, but {own} has a "
                "tokenizer of its own: leave the kind out, or choose pretrained"
            )
        if self.objective.uniform_steps is None:
            steps = UNIFORM_STEPS if self.parsers_must_wait else 0
            self.objective = replace(self.objective, uniform_steps=steps)
        self._check_recombination()

    @property
    def parsers_must_wait(self) -> bool:
        """Whether phrases mean nothing yet when the parsers would begin to learn."""
        is_random = self.model.pretrained is None and not self.objective.flat_steps
        return self.learns_trees and is_random and not self.objective.description.needs_gold

    @property
    def learns_trees(self) -> bool:
        """Whether the run is more than plain seq2seq training."""
        return learns_trees(self.objective, self.model.max_segments)

    def _check_recombination(self) -> None:
        """Refuse to recombine sentences along trees that nothing has learned."""
        start, objective = self.recombination.start, self.objective
        if start is None:
            return
        phase = phase_at(objective, max(start - 1, 0), self.model.max_segments)
        if not self.learns_trees or (phase is Phase.FLAT and start > objective.flat_steps):
            raise UserError(
                f"recombination.start is {start}, but with model.max_segments 1, or "
                "objective.flat_weight 1 until then, there are no trees to recombine sentences by"
            )
        if self.recombination.compared and not objective.description.learns_both_directions:
            raise UserError(
                "recombination.compared asks how well phrases translate each other in both "
                f"directions, which the estimator {objective.estimator} does not learn: set it to 0"
            )
        untaught = first_taught_step(objective)
        if start <= untaught:
            raise UserError(
                f"recombination.start is {start}, but until step {untaught} (objective.flat_steps "
                "and uniform_steps) the parsers learn nothing: their trees would be random; start "
                "some hundred steps later"
            )

    def save(self, directory: str | Path) -> None:
        """Write all settings, defaults too, so that they can be run again."""
        text = yaml.safe_dump(asdict(self), sort_keys=False)
        write_lines(Path(directory) / CONFIG_FILE, text.splitlines())

    def differences(self, other: TrainConfig) -> list[str]:
        """What another run does differently: ``"seed was 0, is now 1"``."""
        before, now = _flat(asdict(self)), _flat(asdict(other))
        reasons: dict[str, str] = {}
        schedule = self.optimisation.schedule
        if schedule in ENDING_SCHEDULES:
            reasons["optimisation.steps"] = (
                f", and with the {schedule} schedule every step depends on their number"
            )
        metric = self.optimisation.metric
        if metric in TRANSLATIONS:
            reasons["optimisation.translate_dev"] = (
                f", and the best checkpoint was chosen by {metric} of these sentences"
            )
        return [
            f"{name} was {before[name]}, is now {now[name]}{reasons.get(name, '')}"
            for name in before
            if before[name] != now[name] and (name not in MAY_CHANGE or name in reasons)
        ]


def config_parser(prog: str = "btg train", **options: Any) -> OptionParser:
    """A parser of ``CONFIG --field value``; ``options`` are those of ``ArgumentParser``."""
    parser = OptionParser(prog, **options)
    parser.add_argument("config", nargs="?", help="YAML file with any of the fields below.")
    # Not required, since a file alone, without the command line, may leave it out.
    parser.add_argument("--output", type=str | None, help=OUTPUT_HELP)
    parser.add_class_arguments(TrainConfig, None, skip={"output"})
    summaries = {name: describe_estimator(name).summary for name in estimator_names()}
    parser.set_choices("objective.estimator", summaries)
    return parser


def parse_config(parser: OptionParser, arguments: Sequence[str]) -> tuple[TrainConfig, Namespace]:
    """The settings of a command line, and all else that the parser found there."""
    files, file = parser.split(arguments).files, None
    base = None
    if files:
        file = YamlFile(files[0], _flat(asdict(TrainConfig(""))))
        try:
            base = parser.parse_values(file.values)
        except UsageError as error:
            raise _placed(error, file) from error
    parsed = parser.parse_args(arguments, base)
    if parsed.output is None:
        raise UsageError(_missing_output(file))
    try:
        values = parser.instantiate(parsed)
        fields = {name: values[name] for name in TrainConfig.__dataclass_fields__}
        return TrainConfig(**fields), parsed
    except UserError as error:
        is_given = any(name in str(error) for name in parser.given_fields)
        raise error if file is None or is_given else _placed(error, file) from error


def load_config(path: str | Path, arguments: Sequence[str] = ()) -> TrainConfig:
    """Read a YAML file; ``arguments`` change fields as on the command line."""
    try:
        return parse_config(config_parser(), [str(path), *arguments])[0]
    except UsageError as error:  # which is for whoever typed a command
        raise UserError(str(error)) from error


def _missing_output(file: YamlFile | None) -> str:
    if file is None:
        return (
            "CONFIG is missing, a YAML file of settings: btg train CONFIG, for example "
            "btg train examples/small_corpus.yaml"
        )
    return f"{file.path}: output is missing: set it there, or with --output DIRECTORY"


def _placed(error: UserError, file: YamlFile) -> UserError:
    """The same error, with the file and the line of the field that it begins with."""
    message = str(error)
    key = message.split()[0].rstrip(":")
    return type(error)(f"{file.place(key)}: {message}")


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """``{"a": {"b": 1}}`` as ``{"a.b": 1}``; what a field holds is left as it is."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": content for inner, content in value.items()}
        else:
            flat[name] = value
    return flat
