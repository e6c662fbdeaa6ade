"""Decoding settings: options of the commands, and defaults saved beside a model.

Nothing here needs torch: commands check their options before they load it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from btg_seq2seq.checks import finite, from_0_to_1, true_or_false, whole
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights
from btg_seq2seq.opening import read_json

DECODING_FILE = "decoding.json"
CONFIG_FILE = "config.json"  # models of before 0.2 have some of the settings there
IN_CONFIG = ("flat_weight", "segment_rate")
LONGEST_CHART = 512  # words; its memory, 4 GB, grows with the cube of the length


@dataclass(frozen=True)
class DecodingSettings:
    """Settings of translation; a model may be saved with its own defaults."""

    section: ClassVar[str] = ""  # before the names of fields in errors

    beam_size: int = 5
    """Hypotheses kept by beam search, and distinct strings kept in a cell of the chart."""

    max_segments: int | None = None
    """Most phrases per sentence. Defaults to the model's own. Rules that need more phrases get
    them."""

    max_phrase_length: int | None = None
    """Longest source phrase in words. Defaults to the model's own. It is raised where phrases
    could not cover the sentence, as in training."""

    span_threshold: float = 0.05
    """Smallest probability of being a phrase with which a source span is translated. 0 translates
    all spans."""

    flat_weight: float = 0.5
    """Probability that cky translates a sentence as a whole, n = 1. Cuts into phrases, n > 1, have
    the rest. It need not be the weight used in training."""

    segment_rate: float = 0.5
    """Rate of the geometric distribution over the number of phrases n > 1 in cky."""

    max_length: int | None = 1024
    """Most tokens per line; a longer line is an error. Time and memory grow with the square of the
    length."""

    max_cky_length: int = 100
    """A sentence with more words is translated flat or, where rules must be obeyed, cut at the
    rules. The result reports this."""

    batch_tokens: int = 8192
    """Most tokens, times beam size, that are decoded side by side."""

    max_output_ratio: float = 3.0
    """Most target tokens per source token; see ``max_output_extra``."""

    max_output_extra: int = 10
    """Target tokens that a sentence or phrase may have beyond ``max_output_ratio`` times its
    length."""

    length_normalised: bool = False
    """Search for, and rank by, the score per token. In the chart, this is the score of a phrase."""

    weights: RankingWeights = field(default_factory=RankingWeights)
    """Weights of the features by which flat ranks translations, and cky phrases in the chart."""

    rescoring: RankingWeights = field(default_factory=RankingWeights)
    """Weights of the features of whole sentences, by which the mode rescored ranks."""

    minimum_risk: bool = False
    """Choose, of the translations found, the one with the highest expected chrF: the one most like
    the others, each weighted by its score."""

    def __post_init__(self) -> None:
        name = {own.name: f"{self.section}{own.name}" for own in fields(self)}
        whole(name["beam_size"], self.beam_size, 1)
        whole(name["batch_tokens"], self.batch_tokens, 1)
        whole(name["max_output_extra"], self.max_output_extra, 1)
        for optional in ("max_segments", "max_phrase_length", "max_length"):
            if getattr(self, optional) is not None:
                whole(name[optional], getattr(self, optional), 1)
        for share in ("span_threshold", "flat_weight", "segment_rate"):
            finite(name[share], getattr(self, share), -math.inf)
            from_0_to_1(name[share], getattr(self, share), ends=share != "segment_rate")
        finite(name["max_output_ratio"], self.max_output_ratio)
        for flag in ("length_normalised", "minimum_risk"):
            true_or_false(name[flag], getattr(self, flag))
        for weights in ("weights", "rescoring"):  # a mapping, where they come from a file
            value = RankingWeights.of(getattr(self, weights), name[weights])
            object.__setattr__(self, weights, value)
        whole(name["max_cky_length"], self.max_cky_length)
        if self.max_cky_length > LONGEST_CHART:
            raise UserError(
                f"{name['max_cky_length']} must lie between 0 and {LONGEST_CHART}, not "
                f"{self.max_cky_length}: the chart of a longer sentence takes too much memory"
            )

    @property
    def ranks_by_probability(self) -> bool:
        """Tell whether flat and cky rank by probability alone."""
        return self.weights.are_default and not self.length_normalised

    def longest_output(self, length: int) -> int:
        """Most target tokens of a source of this length."""
        return math.ceil(self.max_output_ratio * length) + self.max_output_extra

    # A ``BTGSeq2SeqConfig``; but jsonargparse imports every type that is named here, and
    # transformers takes seconds.
    def completed_by(self, config: object) -> CompleteSettings:
        """Fill in what defaults to the model's own ``BTGSeq2SeqConfig``."""
        values = asdict(self)
        for name in ("max_segments", "max_phrase_length"):
            if values[name] is None:
                values[name] = getattr(config, name)
        return CompleteSettings(**values)

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> DecodingSettings:
        """Read the defaults saved beside a model; a directory without any has the usual ones."""
        path = Path(directory) / DECODING_FILE
        if path.exists():
            return cls._from_values(read_json(path), path)
        path = Path(directory) / CONFIG_FILE
        if not path.exists():
            return cls()
        values = read_json(path)
        return cls._from_values({name: values[name] for name in IN_CONFIG if name in values}, path)

    @classmethod
    def _from_values(cls, values: Mapping[str, Any], path: Path) -> DecodingSettings:
        unknown = sorted({*values} - {own.name for own in fields(cls)})
        if unknown:
            raise UserError(
                f"{path}: there is no decoding setting {unknown[0]}: was the model saved by a "
                "newer version?"
            )
        try:
            return cls(**values)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error

    def save(self, directory: str | PathLike[str]) -> None:
        """Write the settings as the defaults of the model in a directory."""
        text = json.dumps(asdict(self), indent=2) + "\n"
        (Path(directory) / DECODING_FILE).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class CompleteSettings(DecodingSettings):
    """Settings in which only the phrase length may be ``None``, for no limit."""

    max_segments: int = 1
