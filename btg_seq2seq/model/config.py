"""What a BTG-Seq2Seq model is made of; saved beside its weights as ``config.json``."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Literal

from transformers import AutoConfig, PreTrainedConfig

from btg_seq2seq.errors import UserError


class BTGSeq2SeqConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """Configuration of ``BTGSeq2Seq``.

    Args:
        backbone: configuration of the encoder-decoder.
        max_segments: most phrases that a sentence is cut into.
        max_phrase_length: longest phrase, in tokens, on either side; nothing for no limit. It is
            raised for a sentence that is too long for its number of phrases.
        max_grammar_length: a sentence with more tokens on either side trains flat, without trees.
        phrase_encoding: ``"alone"``: a phrase is encoded without its neighbours, so that wrong
            boundaries cost something; ``"sentence"``, as in the paper: by its part of the
            sentence's states.
        scorer_width: hidden units of the three scorers.
        share_scorers: one scorer serves all three parsers, each with its own features.
        residual_posterior: the posterior's scores are added to the prior's.
        flat_weight: in cky decoding, the probability of one phrase, unless told otherwise.
        segment_rate: the rate of the geometric distribution over more phrases, there too.
        parsers_learned: whether training has reached the parsers; without, trees are random.
        prefix, suffix: tokens before and behind the source in the encoder's input.
        reverse_prefix, reverse_suffix: the same where the encoder reads the target.
    """

    model_type = "btg_seq2seq"
    sub_configs = {"backbone": AutoConfig}  # noqa: RUF012  read by transformers

    def __init__(
        self,
        backbone: PreTrainedConfig | dict[str, Any] | None = None,
        max_segments: int = 4,
        max_phrase_length: int | None = 16,
        max_grammar_length: int = 100,
        phrase_encoding: Literal["alone", "sentence"] = "alone",
        scorer_width: int = 128,
        share_scorers: bool = False,
        residual_posterior: bool = True,
        flat_weight: float = 0.5,
        segment_rate: float = 0.5,
        parsers_learned: bool = True,
        prefix: list[int] | None = None,
        suffix: list[int] | None = None,
        reverse_prefix: list[int] | None = None,
        reverse_suffix: list[int] | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(backbone, dict):
            values = dict(backbone)
            backbone = AutoConfig.for_model(values.pop("model_type"), **values)
        kwargs.setdefault("is_encoder_decoder", True)
        super().__init__(**kwargs)
        # After the above, which would reset the kind of attention of a model that is in use.
        self.backbone = backbone
        if phrase_encoding not in ("alone", "sentence"):
            raise UserError(f"phrase_encoding is 'alone' or 'sentence', not {phrase_encoding!r}")
        if max_segments < 1:
            raise UserError(f"max_segments must be 1 or more, not {max_segments}")
        self.max_segments = max_segments
        self.max_phrase_length = max_phrase_length
        self.max_grammar_length = max_grammar_length
        self.phrase_encoding = phrase_encoding
        self.scorer_width = scorer_width
        self.share_scorers = share_scorers
        self.residual_posterior = residual_posterior
        self.flat_weight = flat_weight
        self.segment_rate = segment_rate
        self.parsers_learned = parsers_learned
        end = None if backbone is None else getattr(backbone, "eos_token_id", None)
        ending = [] if end is None else [end]
        self.prefix = prefix or []
        self.suffix = ending if suffix is None else suffix
        self.reverse_prefix = self.prefix if reverse_prefix is None else reverse_prefix
        self.reverse_suffix = self.suffix if reverse_suffix is None else reverse_suffix


def check_model(directory: str | PathLike[str]) -> None:
    """Refuse a directory without a model, with the reason."""
    if (Path(directory) / "config.json").is_file():
        return
    reason = "there is no config.json in it"
    if not Path(directory).is_dir():
        reason = "there is no such directory"
    elif (Path(directory) / "config.yaml").is_file():
        reason += "; the run is unfinished: go on with btg train --resume"
    raise UserError(f"{directory} holds no model: {reason}")


# So that transformers knows what kind of model a directory holds.
AutoConfig.register(BTGSeq2SeqConfig.model_type, BTGSeq2SeqConfig)
