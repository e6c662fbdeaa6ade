"""Configuration of a BTG-Seq2Seq model; saved beside its weights as ``config.json``."""

from __future__ import annotations

from dataclasses import asdict, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from transformers import CONFIG_MAPPING, AutoConfig, PreTrainedConfig

from btg_seq2seq.checks import true_or_false, whole
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.decoding_settings import IN_CONFIG
from btg_seq2seq.model.grammar_settings import GrammarSettings
from btg_seq2seq.opening import open_pretrained, read_json

CONFIG_NAME = "config.json"


class BTGSeq2SeqConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """Configuration of ``BTGSeq2Seq``.

    Args:
        backbone: configuration of the encoder-decoder.
        parsers_learned: the parsers have been trained; without, trees are random.
        reverse_learned: source phrases given target phrases have been learned, too; older models
            do not say so.
        written_by: version of this package that saved the model; ``None`` before 0.2.
        prefix, suffix: tokens before and after the source in the encoder's input.
        reverse_prefix, reverse_suffix: the same where the encoder reads the target.
        kwargs: fields of ``GrammarSettings``, and those of ``PreTrainedConfig``.
    """

    model_type = "btg_seq2seq"
    sub_configs = {"backbone": AutoConfig}  # noqa: RUF012  read by transformers

    if TYPE_CHECKING:  # fields of GrammarSettings; at run time, transformers makes defaults of them
        units: Literal["words", "tokens"]
        max_segments: int
        max_phrase_length: int | None
        max_grammar_length: int
        phrase_encoding: Literal["alone", "sentence", "both"]
        scorer_width: int
        share_scorers: bool
        residual_posterior: bool

    def __init__(
        self,
        backbone: PreTrainedConfig | dict[str, Any] | None = None,
        parsers_learned: bool = True,
        reverse_learned: bool = True,
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
        names = [field.name for field in fields(GrammarSettings)]
        grammar = GrammarSettings(**{name: kwargs.pop(name) for name in names if name in kwargs})
        for name in IN_CONFIG:
            if name in kwargs:
                raise UserError(
                    f"{name} is a decoding setting: give the translator, or model.decoding, "
                    f"DecodingSettings({name}={kwargs[name]})"
                )
        kwargs.setdefault("is_encoder_decoder", True)
        super().__init__(**kwargs)
        # After the above, which would reset the kind of attention of a model that is in use.
        self.backbone = backbone
        for name, value in asdict(grammar).items():
            setattr(self, name, value)
        self.parsers_learned = parsers_learned
        self.reverse_learned = reverse_learned
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
        true_or_false("parsers_learned", self.parsers_learned)
        true_or_false("reverse_learned", self.reverse_learned)
        for name in ("prefix", "suffix", "reverse_prefix", "reverse_suffix"):
            tokens = getattr(self, name)
            if not isinstance(tokens, list):
                raise UserError(f"{name} must be a list of tokens, not {tokens!r}")
            for token in tokens:
                whole(name, token)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Create the configuration from ``config.json``, of older versions too."""
        # These are read by DecodingSettings.load.
        kept = {name: value for name, value in config_dict.items() if name not in IN_CONFIG}
        kept.setdefault("units", "tokens")  # older models have no others
        return super().from_dict(kept, **kwargs)


def check_model(directory: str | PathLike[str]) -> None:
    """Refuse a directory without a model, with the reason."""
    if (Path(directory) / CONFIG_NAME).exists():
        return
    reason = "there is no config.json in it"
    if not Path(directory).is_dir():
        is_file = Path(directory).exists()
        reason = "it is no directory" if is_file else "there is no such directory"
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
