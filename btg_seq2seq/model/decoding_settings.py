"""What a decoder can be told; the fields are the command line's."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from btg_seq2seq.errors import UserError

LONGEST_CHART = 512  # tokens; its memory, 4 GB, grows with the cube of the length


@dataclass(frozen=True)
class DecodingSettings:
    """How sentences are translated."""

    beam_size: int = 5
    """Hypotheses kept by beam search, and different strings kept in a cell of the chart."""

    max_segments: int | None = None
    """Most phrases that a sentence is cut into; nothing for what the model was trained with. Rules
    that need more phrases get them."""

    max_phrase_length: int | None = None
    """Longest source phrase in tokens; nothing for what the model was trained with. Where the
    phrases would not reach over the sentence it is widened, as in training."""

    span_threshold: float = 0.05
    """A source span that is a phrase with a smaller probability is not translated; 0 keeps all."""

    flat_weight: float | None = None
    """Probability that a sentence is translated as a whole, n = 1; cuts into phrases, n > 1, have
    the rest. Nothing for what the model says, which need not be what it was in training."""

    segment_rate: float | None = None
    """Rate of the geometric distribution over the number of phrases n > 1; nothing for what the
    model says."""

    max_length: int | None = 1024
    """Most tokens of a line; a longer one is an error. Time and memory grow with the square of the
    length."""

    max_cky_length: int = 100
    """A sentence with more tokens is translated flat, or, where rules must be obeyed, cut at the
    rules; the result says so."""

    batch_tokens: int = 8192
    """Most tokens, times beam size, that are decoded side by side."""

    max_output_ratio: float = 3.0
    """Target tokens that a source token may become, at most; see ``max_output_extra``."""

    max_output_extra: int = 10
    """Target tokens that a sentence or phrase may have beyond ``max_output_ratio`` times its
    length."""

    length_normalised: bool = False
    """Rank hypotheses by log-probability a token. What is reported is then no probability."""

    def __post_init__(self) -> None:
        for name in (
            "beam_size",
            "max_segments",
            "max_phrase_length",
            "max_length",
            "batch_tokens",
        ):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name} must be 1 or more, not {value}")
        for name in ("span_threshold", "flat_weight"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UserError(f"{name} must lie between 0 and 1, not {value}")
        if self.segment_rate is not None and not 0 < self.segment_rate < 1:
            raise UserError(f"segment_rate must lie between 0 and 1, not {self.segment_rate}")
        if not (0 <= self.max_output_ratio < math.inf and self.max_output_extra >= 1):
            raise UserError(
                "max_output_ratio must be a number, 0 or more, and max_output_extra 1 or more, "
                f"not {self.max_output_ratio} and {self.max_output_extra}"
            )
        if not 0 <= self.max_cky_length <= LONGEST_CHART:
            raise UserError(
                f"max_cky_length must lie between 0 and {LONGEST_CHART}, not "
                f"{self.max_cky_length}: the chart of a longer sentence takes too much memory"
            )

    def longest_output(self, length: int) -> int:
        """Most target tokens of a source with so many."""
        return math.ceil(self.max_output_ratio * length) + self.max_output_extra

    # A ``BTGSeq2SeqConfig``; but jsonargparse imports every type that is named here, and
    # transformers takes seconds.
    def completed_by(self, config: object) -> CompleteSettings:
        """The settings, with those of a ``BTGSeq2SeqConfig`` where there are none."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("max_segments", "max_phrase_length", "flat_weight", "segment_rate"):
            if values[name] is None:
                values[name] = getattr(config, name)
        return CompleteSettings(**values)


@dataclass(frozen=True)
class CompleteSettings(DecodingSettings):
    """Settings in which only the phrase length may be left open."""

    max_segments: int = 1
    flat_weight: float = 0.5
    segment_rate: float = 0.5
