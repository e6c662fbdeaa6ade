"""What a BTG-Seq2Seq model is made of; saved beside its weights as ``config.json``."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Literal

from transformers import CONFIG_MAPPING, AutoConfig, PreTrainedConfig

from btg_seq2seq.checks import from_0_to_1, one_of, true_or_false, whole
from btg_seq2seq.errors import UserError
from btg_seq2seq.opening import open_pretrained, read_json

CONFIG_NAME = "config.json"


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
        written_by: version of this package that saved the model; ``None`` before 0.2.
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
        written_by: str | None = None,
        prefix: list[int] | None = None,
        suffix: list[int] | None = None,
        reverse_prefix: list[int] | None = None,
        reverse_suffix: list[int] | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(backbone, dict):
            values = dict(backbone)
            kind = values.pop("model_type", None)
            if kind not in CONFIG_MAPPING:
                raise UserError(f"backbone.model_type is {kind!r}, which no known model has")
            backbone = AutoConfig.for_model(kind, **values)
        kwargs.setdefault("is_encoder_decoder", True)
        super().__init__(**kwargs)
        # After the above, which would reset the kind of attention of a model that is in use.
        self.backbone = backbone
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
        self.written_by = written_by
        end = None if backbone is None else getattr(backbone, "eos_token_id", None)
        ending = [] if end is None else [end]
        self.prefix = prefix or []
        self.suffix = ending if suffix is None else suffix
        self.reverse_prefix = self.prefix if reverse_prefix is None else reverse_prefix
        self.reverse_suffix = self.suffix if reverse_suffix is None else reverse_suffix
        self._check()

    def _check(self) -> None:
        """Refuse values that make no sense; a file may hold anything."""
        for name in ("max_segments", "max_grammar_length", "scorer_width"):
            whole(name, getattr(self, name), 1)
        if self.max_phrase_length is not None:
            whole("max_phrase_length", self.max_phrase_length, 1)
        one_of("phrase_encoding", self.phrase_encoding, ("alone", "sentence"))
        for name in ("share_scorers", "residual_posterior", "parsers_learned"):
            true_or_false(name, getattr(self, name))
        from_0_to_1("flat_weight", self.flat_weight)
        from_0_to_1("segment_rate", self.segment_rate, ends=False)
        for name in ("prefix", "suffix", "reverse_prefix", "reverse_suffix"):
            tokens = getattr(self, name)
            if not isinstance(tokens, list):
                raise UserError(f"{name} must be a list of tokens, not {tokens!r}")
            for token in tokens:
                whole(name, token)


def check_model(directory: str | PathLike[str]) -> None:
    """Refuse a directory without a model, with the reason."""
    if (Path(directory) / CONFIG_NAME).exists():
        return
    reason = "there is no config.json in it"
    if not Path(directory).is_dir():
        reason = "there is no such directory"
    elif (Path(directory) / "config.yaml").is_file():
        reason += "; the run is unfinished: go on with btg train --resume"
    raise UserError(f"{directory} holds no model: {reason}")


def open_btg_config(directory: str | PathLike[str]) -> BTGSeq2SeqConfig:
    """The configuration of a model that this package wrote."""
    check_model(directory)
    kind = read_json(Path(directory) / CONFIG_NAME).get("model_type")
    if kind != BTGSeq2SeqConfig.model_type:
        raise UserError(
            f"{directory} holds a model of kind {kind}, not one that btg train wrote; to train one "
            f"around it, give it as model.backbone"
        )
    config: BTGSeq2SeqConfig = open_pretrained(BTGSeq2SeqConfig, directory, "a configuration")
    return config


# So that transformers knows what kind of model a directory holds.
AutoConfig.register(BTGSeq2SeqConfig.model_type, BTGSeq2SeqConfig)
