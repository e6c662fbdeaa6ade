"""All settings of a training run: a YAML file, a command line and Python, from one set of classes.

The text under a field is its help on the command line. An unknown key is an error. The settings of
a run, defaults included, are saved as ``config.yaml`` beside the model and can be run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]
from jsonargparse import Namespace

from btg_seq2seq.checks import at_least
from btg_seq2seq.errors import UsageError, UserError
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.options.yaml_file import YamlFile
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.text.bitext import write_lines
from btg_seq2seq.training.objective.estimator import describe_estimator, estimator_names
from btg_seq2seq.training.objective.phases import (
    Phase,
    first_parser_step,
    learns_trees,
    phase_at,
)
from btg_seq2seq.training.settings.data import DataConfig, TokenizerConfig
from btg_seq2seq.training.settings.measures import MEASURES, needs_translations
from btg_seq2seq.training.settings.model import DecodingConfig, ModelConfig
from btg_seq2seq.training.settings.objective import ObjectiveSettings
from btg_seq2seq.training.settings.optimisation import ENDING_SCHEDULES, OptimisationConfig

CONFIG_FILE = "config.yaml"  # not config.json, which is Hugging Face's
OUTPUT_HELP = "Directory for the model, its checkpoints and logs."
UNIFORM_STEPS = 300  # enough for random weights to find the trees of the toy task for every seed

# Settings that may differ when a run is resumed. They change how far training goes and what is kept
# and shown of it, not where it leads. (With some schedules, the number of steps matters too.) Files
# may have moved: their contents are compared by checksums.
MAY_CHANGE = {
    "output",
    "threads",
    *(f"data.{side}" for side in ("train_source", "train_target", "dev_source", "dev_target")),
    *(f"data.{name}" for name in ("train_trees", "train_segmentations", "dev_trees")),
    "recombination.exclude",
    *(f"decoding.{field.name}" for field in fields(DecodingSettings)),
    "optimisation.steps",
    "optimisation.eval_every",
    "optimisation.save_every",
    "optimisation.log_every",
    "optimisation.translate_dev",
    "optimisation.translate_dev_modes",
    "optimisation.patience",
    "optimisation.final",
    "optimisation.average_checkpoints",
}
# Fields of earlier versions, and what replaces them.
REPLACED = {f"model.{name}": f"decoding.{name}" for name in ("flat_weight", "segment_rate")}

__all__ = [
    "CONFIG_FILE",
    "DataConfig",
    "DecodingConfig",
    "ModelConfig",
    "ObjectiveSettings",
    "OptimisationConfig",
    "RecombinationConfig",
    "TokenizerConfig",
    "TrainConfig",
    "config_of",
    "config_parser",
    "known_fields",
    "load_config",
    "parse_config",
]


@dataclass
class TrainConfig:
    """The run."""

    output: str
    """Directory for the model, its checkpoints and logs."""

    data: DataConfig = field(default_factory=DataConfig)
    """Parallel text: files with one sentence per line, plain or .gz, UTF-8"""

    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    """The tokenizer: trained on the bitext, or pretrained"""

    model: ModelConfig = field(default_factory=ModelConfig)
    """The encoder-decoder and its parsers"""

    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)
    """Computation of the loss of a batch"""

    optimisation: OptimisationConfig = field(default_factory=OptimisationConfig)
    """Optimiser, batches, evaluations and checkpoints"""

    recombination: RecombinationConfig = field(default_factory=RecombinationConfig)
    """Sentences recombined from the model's own phrases, to teach the flat mode"""

    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    """Defaults of translation, saved beside the model"""

    seed: int = 0
    """Seed of the initial weights, of the order of the data and of everything drawn at random."""

    threads: int | None = None
    """CPU threads. Defaults to torch's own choice."""

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
        if self.objective.teacher is None:
            teacher: Literal["lexical", "none"] = "lexical" if self.needs_teacher else "none"
            self.objective = replace(self.objective, teacher=teacher)
        if self.objective.uniform_steps is None:
            steps = UNIFORM_STEPS if self.parsers_must_wait else 0
            self.objective = replace(self.objective, uniform_steps=steps)
        self._check_recombination()
        self._check_metric()

    @property
    def needs_teacher(self) -> bool:
        """Random weights, and nothing else that would show the parsers their first trees."""
        objective = self.objective
        has_other = objective.description.needs_gold or bool(objective.uniform_steps)
        return self.learns_trees and self.model.pretrained is None and not has_other

    @property
    def parsers_must_wait(self) -> bool:
        """Random weights: phrases mean nothing yet when the parsers would begin to learn."""
        objective = self.objective
        is_random = self.model.pretrained is None and not objective.flat_steps
        has_trees = objective.description.needs_gold or objective.has_teacher
        return self.learns_trees and is_random and not has_trees

    @property
    def learns_trees(self) -> bool:
        """More than plain seq2seq training."""
        return learns_trees(self.objective, self.model.max_segments)

    def _check_recombination(self) -> None:
        """Refuse to recombine sentences along untrained trees."""
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
        if self.recombination.found_by == "teacher":
            if not objective.has_teacher:
                raise UserError(
                    "recombination.found_by is teacher, but there is none: set objective.teacher "
                    "to lexical, or let the model find the phrases"
                )
            if self.recombination.compared:
                raise UserError(
                    "recombination.compared compares trees that the model finds, but "
                    "recombination.found_by is teacher: set it to 0"
                )
            return
        untaught = first_parser_step(objective)
        if start <= untaught:
            raise UserError(
                f"recombination.start is {start}, but until step {untaught} (objective.flat_steps "
                "and uniform_steps) the parsers do not learn, and their trees would be random: "
                "start some hundred steps later"
            )

    def _check_metric(self) -> None:
        """Refuse to choose the best checkpoint by a chart that will never be used."""
        metric = self.optimisation.metric
        learns = self.learns_trees and first_parser_step(self.objective) < self.optimisation.steps
        if metric in MEASURES and MEASURES[metric].needs == "cky translations" and not learns:
            raise UserError(
                f"optimisation.metric is {metric}, but the parsers, which cky needs, learn nothing "
                "with these settings: choose a metric of flat translations"
            )

    def save(self, directory: str | Path) -> None:
        """Write all settings, defaults included, so that they can be run again."""
        text = yaml.safe_dump(asdict(self), sort_keys=False)
        write_lines(Path(directory) / CONFIG_FILE, text.splitlines())

    def differences(self, other: TrainConfig) -> list[str]:
        """Describe settings that keep a run from being resumed: ``"seed was 0, is now 1"``."""
        before, now = _flat(asdict(self)), _flat(asdict(other))
        reasons: dict[str, str] = {}
        schedule = self.optimisation.schedule
        if schedule in ENDING_SCHEDULES:
            reasons["optimisation.steps"] = (
                f", and with the {schedule} schedule every step depends on their number"
            )
        metric = self.optimisation.metric
        if needs_translations(metric):
            reasons["optimisation.translate_dev"] = (
                f", and the best checkpoint was chosen by {metric} of these sentences"
            )
        return [
            f"{name} was {before[name]}, is now {now[name]}{reasons.get(name, '')}"
            for name in before
            if before[name] != now[name] and (name not in MAY_CHANGE or name in reasons)
        ]


def config_parser(prog: str = "btg train", **options: Any) -> OptionParser:
    """Create a parser of ``CONFIG --field value``; ``options`` are those of ``ArgumentParser``."""
    moved = {
        "--" + old.replace("_", "-"): f"--{old} is --{new} now".replace("_", "-")
        for old, new in REPLACED.items()
    }
    parser = OptionParser(prog, moved, **options)
    parser.add_argument("config", nargs="?", help="YAML file with any of the fields below.")
    # Not required, since a file alone, without the command line, may leave it out.
    parser.add_argument("--output", type=str | None, help=OUTPUT_HELP)
    parser.add_class_arguments(TrainConfig, None, skip={"output"})
    summaries = {name: describe_estimator(name).summary for name in estimator_names()}
    parser.set_choices("objective.estimator", summaries)
    return parser


def parse_config(parser: OptionParser, arguments: Sequence[str]) -> tuple[TrainConfig, Namespace]:
    """Parse the settings of a command line; return them and all parsed options."""
    files = parser.split(arguments).files
    file = YamlFile(files[0], known_fields(), REPLACED) if files else None
    return _parse(parser, arguments, file)


def known_fields() -> list[str]:
    """All fields as they are called in files: ``model.layers``."""
    return list(_flat(asdict(TrainConfig(""))))


def config_of(file: YamlFile, arguments: Sequence[str] = ()) -> TrainConfig:
    """Make settings of a file that was read; ``arguments`` change fields."""
    try:
        return _parse(config_parser(), [str(file.path), *arguments], file)[0]
    except UsageError as error:  # for command lines only
        raise UserError(str(error)) from error


def _parse(
    parser: OptionParser, arguments: Sequence[str], file: YamlFile | None
) -> tuple[TrainConfig, Namespace]:
    base = None
    if file is not None:
        try:
            base = parser.parse_values(file.values)
        except UsageError as error:
            raise _placed(error, file) from error
    parsed = parser.parse_args(arguments, base)
    if parsed.output is None:
        raise UsageError(_missing_output(file))
    try:
        values = parser.instantiate(parsed)
        return TrainConfig(**{each.name: values[each.name] for each in fields(TrainConfig)}), parsed
    except UserError as error:
        is_given = any(name in str(error) for name in parser.given_fields)
        raise error if file is None or is_given else _placed(error, file) from error


def load_config(path: str | Path, arguments: Sequence[str] = ()) -> TrainConfig:
    """Read a YAML file; ``arguments`` change fields as on the command line."""
    try:
        return parse_config(config_parser(), [str(path), *arguments])[0]
    except UsageError as error:  # for command lines only
        raise UserError(str(error)) from error


def _missing_output(file: YamlFile | None) -> str:
    if file is None:
        return (
            "CONFIG is missing, a YAML file of settings: btg train CONFIG, for example "
            "btg train examples/small.yaml"
        )
    return f"{file.path}: output is missing: set it there, or with --output DIRECTORY"


def _placed(error: UserError, file: YamlFile) -> UserError:
    """Add to an error the file and the line of the field that it begins with."""
    message = str(error)
    key = message.split()[0].rstrip(":")
    return type(error)(f"{file.place(key)}: {message}")


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """Turn ``{"a": {"b": 1}}`` into ``{"a.b": 1}``, one level deep."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": content for inner, content in value.items()}
        else:
            flat[name] = value
    return flat
