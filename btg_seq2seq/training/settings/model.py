"""Settings of the model of a run, and the decoding defaults saved beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import ClassVar, Literal

from btg_seq2seq.checks import at_least, from_0_to_1
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.grammar_settings import GrammarSettings


@dataclass
class ModelConfig(GrammarSettings):
    """The encoder-decoder and its parsers."""

    section: ClassVar[str] = "model."

    backbone: str | None = None
    """A pretrained encoder-decoder: hub name or directory. Defaults to random weights of the sizes
    below."""

    init_from: str | None = None
    """Directory of a plain Hugging Face model or of an earlier run. Its encoder-decoder and its
    tokenizer are used; the parsers start from random weights."""

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
    """Width of the feed-forward layers (random weights). Defaults to four times that of the
    states."""

    dropout: float | None = None
    """Share of activations dropped in training. Defaults to the pretrained model's own, or to 0.1
    for random weights."""

    attention_dropout: float | None = None
    """Share of attention weights dropped in training. Defaults to the pretrained model's own, or to
    ``dropout`` for random weights."""

    activation_dropout: float | None = None
    """Share of activations dropped inside feed-forward layers in training. Defaults as
    ``attention_dropout`` does."""

    word_dropout: float = 0.0
    """Share of tokens that encoder and decoder do not see in training: their embeddings are
    replaced by zeros. Source and target alike; 0.1 to 0.2 helps small corpora."""

    initial_weights: Literal["t5", "small"] = "small"
    """Scale of random weights. ``t5`` is T5's own. ``small`` divides embeddings, and all that
    layers add to them, by the root of the width: the model begins as the same function, but learns
    much faster in its first hundreds of steps. Parsers without a teacher then need
    ``objective.uniform_steps``."""

    position_spread: float | None = None
    """Standard deviation of the initial weights of relative positions (random weights). Defaults to
    T5's, the inverse root of the width. With 1, phrases with the same words in another order are
    told apart from few examples, but the estimator ``paper`` finds fewer trees."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.backbone is not None and self.init_from is not None:
            raise UserError("give model.backbone or model.init_from, not both")
        for name in ("hidden_size", "layers", "heads", "feed_forward_size"):
            at_least(1, f"model.{name}", getattr(self, name))
        for name in ("dropout", "attention_dropout", "activation_dropout", "word_dropout"):
            from_0_to_1(f"model.{name}", getattr(self, name))
        spread = self.position_spread
        if spread is not None and not spread > 0:
            raise UserError(f"model.position_spread must be more than 0, not {spread}")
        if (self.source_language is None) != (self.target_language is None):
            raise UserError("give both of model.source_language and model.target_language")

    @property
    def pretrained(self) -> str | None:
        """Origin of weights that are not random."""
        return self.backbone or self.init_from

    @property
    def grammar(self) -> GrammarSettings:
        """Settings of the grammar alone."""
        own = [field.name for field in fields(GrammarSettings)]
        return GrammarSettings(**{name: getattr(self, name) for name in own})

    @property
    def unused(self) -> list[str]:
        """Fields for random weights that are set although the weights are pretrained."""
        sizes = ("hidden_size", "layers", "heads", "feed_forward_size")
        names = (*sizes, "initial_weights", "position_spread")
        is_set = [name for name in names if getattr(self, name) != getattr(ModelConfig, name)]
        return [f"model.{name}" for name in is_set] if self.pretrained else []


@dataclass(frozen=True)
class DecodingConfig(DecodingSettings):
    """Defaults of translation, saved beside the model."""

    section: ClassVar[str] = "decoding."

    @property
    def settings(self) -> DecodingSettings:
        """The settings themselves."""
        return DecodingSettings(**asdict(self))
