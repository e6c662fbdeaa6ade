"""Settings of the texts of a run and of its tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from btg_seq2seq.checks import at_least, finite, from_0_to_1
from btg_seq2seq.errors import UserError
from btg_seq2seq.text.bitext import TooLong


@dataclass
class DataConfig:
    """Parallel text: files with one sentence per line, plain or .gz, UTF-8."""

    train_source: str | None = None
    """Sentences to learn from."""

    train_target: str | None = None
    """Their translations, line by line."""

    train_trees: str | None = None
    """Gold trees of these sentences, as brackets over words and punctuation marks. They are for the
    estimator ``gold``."""

    train_segmentations: str | None = None
    """Also for ``gold``: lengths in words of the target phrases, one for each leaf of a tree."""

    dev_source: str | None = None
    """Sentences to evaluate the model on during training. Without them there are no evaluations,
    and so no best checkpoint."""

    dev_target: str | None = None
    """Their translations."""

    dev_trees: str | None = None
    """Gold trees of the dev set, as brackets over words, to evaluate the parsers with."""

    max_pairs: int | None = None
    """Use only the first pairs of the training data, at most this many."""

    max_length: int | None = 256
    """Most tokens per side, its end token included."""

    too_long: TooLong = "skip"
    """Treatment of longer training pairs: ``skip``, ``keep`` or ``error``. Sentences that the model
    cannot read are never kept."""

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
    """The tokenizer: trained on the bitext, or pretrained."""

    kind: Literal["word", "bpe", "unigram", "pretrained"] | None = None
    """``word`` for toy tasks, ``bpe`` or ``unigram`` trained on the bitext, ``pretrained`` for an
    existing one. Defaults to the pretrained model's own, or to ``bpe`` for random weights."""

    vocabulary_size: int | None = None
    """Tokens of a trained tokenizer. Defaults to every word, or 8000 pieces."""

    path: str | None = None
    """Directory or hub name of a pretrained tokenizer other than the model's own."""

    bpe_dropout: float = 0.0
    """For ``bpe``: probability that a merge is left out where training sentences are cut into
    tokens, differently in every epoch. 0.1 is usual. Translation is not affected."""

    unigram_alpha: float | None = None
    """For ``unigram``: training sentences are cut into tokens at random, differently in every
    epoch, with probabilities to the power of this number. 0.1 to 0.5 is usual; smaller is more
    random. ``None`` disables it."""

    def __post_init__(self) -> None:
        from_0_to_1("tokenizer.bpe_dropout", self.bpe_dropout)
        if self.unigram_alpha is not None:
            finite("tokenizer.unigram_alpha", self.unigram_alpha)
        if self.bpe_dropout and self.unigram_alpha is not None:
            raise UserError("give tokenizer.bpe_dropout or unigram_alpha, not both")
