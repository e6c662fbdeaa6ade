"""Differences between families of Hugging Face encoder-decoders: one small adapter each.

Start tokens, language codes, the head over the vocabulary and the longest input are defined here
and nowhere else. ``family_of`` picks the adapter by ``config.model_type``; ``register_family`` adds
one. Loading is here too.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
    T5Config,
)

from btg_seq2seq.errors import UserError
from btg_seq2seq.opening import open_pretrained


class Family:
    """Adapter between the backbone and a type of model; the defaults suit most families.

    ``relative_positions``: only distances between tokens count, so a phrase masked off inside a row
    has exactly the states that it has in a row of its own.
    ``language_codes``: a token tells the decoder which language to write.
    ``dropout_field``: the configuration's field for the share of dropped activations.
    ``cross_attention``: the name of the modules with which the decoder attends to the source.
    """

    relative_positions = False
    language_codes = False
    dropout_field = "dropout"
    cross_attention = "encoder_attn"

    def check(self, config: PreTrainedConfig) -> None:
        """Refuse a model of this family that cannot serve, with ``UserError``."""

    def longest(self, config: PreTrainedConfig) -> int | None:
        """Most tokens of a row, if the table of positions limits them; ``None`` for no limit."""
        limit: int = config.max_position_embeddings
        return limit

    def prompt(self, config: PreTrainedConfig, language: int | None) -> tuple[int, ...]:
        """Tokens that the decoder reads before it predicts the first token of a sentence."""
        return (required(config, "decoder_start_token_id"),)

    def spread_positions(self, model: Any, deviation: float) -> None:
        """Redraw the weights of relative positions, if there are any."""

    def shrink_weights(self, model: Any) -> None:
        """Rescale random weights that Adam would learn slowly, if there are any."""

    def drop_attention(self, model: Any, share: float | None) -> None:
        """Drop this share of attention weights in training; ``None`` leaves it as it is."""
        for module in model.modules():
            is_attention = type(module).__name__.endswith("Attention")
            # T5's layers around its attention are named alike, and have a module of this name.
            if share is not None and is_attention and isinstance(module.dropout, float | int):
                module.dropout = share

    def drop_activations(self, model: Any, share: float | None) -> None:
        """Drop this share of activations in feed-forward layers; ``None`` leaves it as it is."""
        for module in model.modules():
            if share is not None and hasattr(module, "activation_dropout"):
                module.activation_dropout = share

    def logits(self, model: Any, hidden: Tensor) -> Tensor:
        """Scores of the vocabulary: ``[..., hidden]`` to ``[..., vocabulary]``."""
        logits: Tensor = model.lm_head(hidden) + model.final_logits_bias[0]
        return logits


class T5Family(Family):
    """T5, T5 v1.1 and mT5: relative positions; padding starts a sentence."""

    relative_positions = True
    dropout_field = "dropout_rate"
    cross_attention = "EncDecAttention"

    def longest(self, config: PreTrainedConfig) -> int | None:
        return None

    def prompt(self, config: PreTrainedConfig, language: int | None) -> tuple[int, ...]:
        start: int | None = getattr(config, "decoder_start_token_id", None)
        return (required(config, "pad_token_id") if start is None else start,)

    @torch.no_grad()
    def shrink_weights(self, model: Any) -> None:
        """Scale down the embeddings and all that is added to them, for a head without a scale.

        T5 draws embeddings with a standard deviation of 1, for Adafactor, whose steps are relative
        to the weights. Adam's are absolute, and too small for such embeddings: for hundreds of
        steps, little is learned. Norms undo the scale, so the model begins as the same function.
        """
        model.config.scale_decoder_outputs = False
        scaled = ("shared.weight", "Attention.o.weight", "DenseReluDense.wo.weight")
        for name, weight in model.named_parameters():
            if name.endswith(scaled):
                weight.mul_(model.config.d_model**-0.5)

    def drop_activations(self, model: Any, share: float | None) -> None:
        for module in model.modules():
            if share is not None and type(module).__name__.endswith("ActDense"):
                module.dropout.p = share

    @torch.no_grad()
    def spread_positions(self, model: Any, deviation: float) -> None:
        """Redraw the weights of relative positions, with this standard deviation."""
        for stack in (model.get_encoder(), model.get_decoder()):
            bias = stack.block[0].layer[0].SelfAttention.relative_attention_bias
            bias.weight.normal_(std=deviation)

    def logits(self, model: Any, hidden: Tensor) -> Tensor:
        # The first T5 scales what goes into its tied head; v1.1 and mT5 do not.
        if getattr(model.config, "scale_decoder_outputs", False):
            hidden = hidden * model.config.d_model**-0.5
        logits: Tensor = model.lm_head(hidden)
        return logits


class BartFamily(Family):
    """BART: the end token starts a sentence and the token of beginnings follows, as in training."""

    def prompt(self, config: PreTrainedConfig, language: int | None) -> tuple[int, ...]:
        start = super().prompt(config, language)
        return start if config.bos_token_id is None else (*start, config.bos_token_id)


class MBartFamily(Family):
    """mBART starts a sentence with its language; mBART-50 with the end token and its language.

    The configuration of mBART-50 names the end token as the one that starts; that of mBART names
    a language or has none.
    """

    language_codes = True

    def prompt(self, config: PreTrainedConfig, language: int | None) -> tuple[int, ...]:
        start: int | None = config.decoder_start_token_id
        if start is not None and start == required(config, "eos_token_id"):
            return (start,) if language is None else (start, language)
        if language is None and start is None:
            raise UserError(
                "this mBART has no token that starts a sentence: name the languages first, "
                "with set_languages(source, target)"
            )
        return (start if language is None else language,)  # type: ignore[return-value]


class M2MFamily(Family):
    """M2M-100 and NLLB: the end token starts a sentence, the language follows."""

    language_codes = True

    def longest(self, config: PreTrainedConfig) -> int | None:
        return None  # its table of sines grows on demand

    def prompt(self, config: PreTrainedConfig, language: int | None) -> tuple[int, ...]:
        start = super().prompt(config, language)
        return start if language is None else (*start, language)

    def logits(self, model: Any, hidden: Tensor) -> Tensor:
        logits: Tensor = model.lm_head(hidden)
        return logits


class MarianFamily(Family):
    """Marian (OPUS-MT): padding starts a sentence."""

    def check(self, config: PreTrainedConfig) -> None:
        if not config.share_encoder_decoder_embeddings:
            raise UserError(
                "this Marian has one vocabulary per side; a shared vocabulary is needed, because "
                "the posterior reads the target in the encoder "
                "(share_encoder_decoder_embeddings: true)"
            )


FAMILIES: dict[str, Family] = {
    "t5": T5Family(),
    "mt5": T5Family(),
    "bart": BartFamily(),
    "mbart": MBartFamily(),
    "m2m_100": M2MFamily(),
    "marian": MarianFamily(),
}


def register_family(model_type: str, family: Family) -> None:
    """Let models of a type serve as backbones.

    ``model_type`` is the one in their ``config.json``. The model must be one that Hugging Face's
    ``AutoModelForSeq2SeqLM`` loads, with one vocabulary for both sides; ``family`` is an instance
    of a subclass of ``Family`` that overrides what is different.
    """
    if FAMILIES.setdefault(model_type, family) is not family:
        raise UserError(f"there is another family for models of type {model_type!r}")


def family_of(config: PreTrainedConfig) -> Family:
    """Return the adapter of a model; ``UserError`` lists the known types if there is none."""
    if config.model_type not in FAMILIES:
        raise UserError(
            f"a model of type {config.model_type!r} cannot serve as a backbone; "
            f"these types can: {', '.join(FAMILIES)} "
            "(mbart includes mBART-50, m2m_100 includes NLLB)"
        )
    family = FAMILIES[config.model_type]
    family.check(config)
    return family


def required(config: PreTrainedConfig, name: str) -> int:
    """Return a token id that the configuration must set; the first, if it sets several."""
    value: int | list[int] | None = getattr(config, name, None)
    if value is None or value == []:
        raise UserError(f"the configuration of this {config.model_type} does not set {name}")
    return value[0] if isinstance(value, list) else value


def default_config(
    vocabulary_size: int,
    *,
    hidden_size: int = 512,
    layers: int = 6,
    heads: int = 8,
    feed_forward_size: int | None = None,
    dropout: float = 0.1,
    pad: int = 0,
    sentence_end: int = 1,
) -> T5Config:
    """Configuration of a T5 to train from random weights, with tied, scaled embeddings.

    T5's relative positions let phrases be encoded and decoded side by side in one row. The
    feed-forward layers are four times as wide as the states and use ReLU: gated GELU helps large
    pretrained models, but is slower on a CPU with the same number of weights.
    """
    if hidden_size % heads:
        raise UserError(f"hidden_size {hidden_size} is not a multiple of the {heads} heads")
    return T5Config(
        vocab_size=vocabulary_size,
        d_model=hidden_size,
        d_kv=hidden_size // heads,
        d_ff=4 * hidden_size if feed_forward_size is None else feed_forward_size,
        num_layers=layers,
        num_heads=heads,
        dropout_rate=dropout,
        feed_forward_proj="relu",
        pad_token_id=pad,
        eos_token_id=sentence_end,
        decoder_start_token_id=pad,  # type: ignore[call-arg]
    )


def random_model(config: PreTrainedConfig, dtype: torch.dtype) -> Any:
    """Build a model with random weights."""
    family_of(config)
    auto: Any = AutoModelForSeq2SeqLM  # its methods carry no types
    return auto.from_config(config, dtype=dtype)


def set_dropout(config: PreTrainedConfig, share: float | None) -> None:
    """Change the share of activations dropped in training; ``None`` leaves it as it is."""
    if share is not None:
        setattr(config, family_of(config).dropout_field, share)


def load_pretrained(
    source: str | PathLike[str], dtype: torch.dtype, dropout: float | None = None
) -> Any:
    """Load a model from a directory or the hub: safetensors only, no remote code, no gaps."""
    try:
        config = open_pretrained(AutoConfig, source, "a backbone")
        family_of(config)  # refuses before the weights are fetched
        set_dropout(config, dropout)
        return open_weights(AutoModelForSeq2SeqLM, source, config=config, dtype=dtype)
    except UserError as error:
        place = "" if fspath(source) in str(error) else f"{fspath(source)}: "
        raise UserError(
            f"{place}{str(error).rstrip('.')}. Give a directory with config.json and "
            "model.safetensors, or the name of such a model on the hub; docs/training.md says how "
            "to convert pytorch_model.bin"
        ) from error


def open_weights(loader: Any, source: str | PathLike[str], **options: Any) -> Any:
    """Load a model from safetensors; every weight must be there and fit."""
    model, report = open_pretrained(
        loader,
        source,
        "a model",
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # reported below
        output_loading_info=True,
        **options,
    )
    for name, found, wanted in sorted(report["mismatched_keys"]):
        raise UserError(
            f"the weights in {fspath(source)} do not fit its config.json: {name} has shape "
            f"{tuple(found)}, not {tuple(wanted)}"
        )
    if missing := sorted(report["missing_keys"]):
        raise UserError(
            f"the model in {fspath(source)} is incomplete: {len(missing)} of its weights are "
            f"missing, such as {missing[0]}"
        )
    return model


def language_id(language: int | str, tokenizer: PreTrainedTokenizerBase | None) -> int:
    """Return the token id of a language, given the id itself or a code of the tokenizer."""
    if isinstance(language, int):
        return language
    if tokenizer is None:
        raise UserError(f"a tokenizer is needed to find the token of language {language!r}")
    # M2M-100 writes its tokens as __de__ and has a table; NLLB's codes are its special tokens.
    codes: dict[str, int] | None = getattr(tokenizer, "lang_code_to_id", None)
    if codes is None:
        vocabulary, special = tokenizer.get_vocab(), tokenizer.all_special_tokens
        codes = {token: vocabulary[token] for token in special if token in vocabulary}
    if language not in codes:
        raise UserError(
            f"the tokenizer has no language {language!r}; it knows {', '.join(sorted(codes))}"
        )
    return codes[language]
