"""The tokens of a Hugging Face encoder-decoder: which of them frame sentences and phrases.

Start tokens, languages, the segment tokens of the paper, and the size of the embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.families import Family, family_of, language_id, required
from btg_seq2seq.model.shared_sources import share_sources
from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.text.tokenizers import SEGMENT_END, SEGMENT_START


class Vocabulary(nn.Module):
    """The meaning of a model's tokens.

    Segment tokens and languages are written into ``model.config``, so they are saved with it.
    """

    model: Any  # a PreTrainedModel, most of whose methods carry no types
    family: Family

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.family = family_of(model.config)
        self.model = model
        share_sources(model, self.family.cross_attention)
        self._note_only_language()

    @property
    def vocabulary_size(self) -> int:
        """Rows of the embeddings, which may be more than a tokenizer has tokens."""
        return int(self.model.get_output_embeddings().weight.shape[0])

    @property
    def hidden_size(self) -> int:
        """Width of the states."""
        return int(self.model.config.d_model)

    @property
    def pad(self) -> int:
        """Token that fills rows."""
        return required(self.model.config, "pad_token_id")

    @property
    def sentence_start(self) -> int:
        """Token that the decoder starts a sentence with."""
        return self.sentence_prompt()[0]

    @property
    def prefix(self) -> tuple[int, ...]:
        """Tokens between ``sentence_start`` and the first that is predicted: the language."""
        return self.sentence_prompt()[1:]

    @property
    def sentence_end(self) -> int:
        """Token that ends a sentence."""
        return required(self.model.config, "eos_token_id")

    @property
    def segment_start(self) -> int:
        """Token that the decoder starts a phrase with."""
        return self._segment_tokens()[0]

    @property
    def segment_end(self) -> int:
        """Token that ends a phrase."""
        return self._segment_tokens()[1]

    @property
    def has_segment_tokens(self) -> bool:
        """True if the tokens that start and end a phrase are known."""
        return getattr(self.model.config, "segment_start_token_id", None) is not None

    def _segment_tokens(self) -> tuple[int, int]:
        if not self.has_segment_tokens:
            raise UserError(
                "the model has no segment tokens yet: call resize with a tokenizer that has them, "
                "or add_segment_ids"
            )
        config = self.model.config
        return config.segment_start_token_id, config.segment_end_token_id

    def sentence_prompt(self, *, reverse: bool = False) -> tuple[int, ...]:
        """The decoder's input before the first predicted token of a sentence.

        ``reverse``: it writes the source language.
        """
        return self.family.prompt(self.model.config, self._language(reverse))

    def phrase_prompt(self, *, reverse: bool = False) -> tuple[int, ...]:
        """The decoder's input before the first predicted token of a phrase."""
        language = self._language(reverse)
        return (self.segment_start,) if language is None else (self.segment_start, language)

    def shift_right(self, labels: Tensor, start: int | Sequence[int]) -> Tensor:
        """The decoder's input for ``labels``: ``[batch, prompt + target - 1]``.

        ``start`` is a token or a whole prompt; the last label goes, ``IGNORED`` becomes padding.
        """
        prompt = labels.new_tensor([start] if isinstance(start, int) else list(start))
        kept = labels[:, :-1].masked_fill(labels[:, :-1] == IGNORED, self.pad)
        return torch.cat([prompt.expand(len(labels), -1), kept], dim=1)

    def add_segment_ids(self, start: int, end: int) -> None:
        """Name the tokens that start and end a phrase; the embeddings grow if they are new."""
        taken = {self.pad, self.sentence_end, self._start_or_none()}
        if start == end or {start, end} & taken or min(start, end) < 0:
            raise UserError(
                f"segment tokens {start} and {end} must differ from each other and from the tokens "
                f"of padding and of sentences ({sorted(taken - {None})})"  # type: ignore[type-var]
            )
        new = sorted(token for token in (start, end) if token >= self.vocabulary_size)
        if new != list(range(self.vocabulary_size, self.vocabulary_size + len(new))):
            raise UserError(
                f"segment tokens {start} and {end} would leave rows without a token behind the "
                f"{self.vocabulary_size} that the model has: resize to the tokenizer first"
            )
        self._grow(self.vocabulary_size + len(new))
        self.model.config.segment_start_token_id = start
        self.model.config.segment_end_token_id = end

    def resize(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Give every token of ``tokenizer`` a row, and learn its segment tokens if it has them.

        Embeddings, head and logit bias grow to exactly its size. They never shrink: pretrained
        models often have spare rows.
        """
        for name, own in (("pad_token_id", self.pad), ("eos_token_id", self.sentence_end)):
            if getattr(tokenizer, name) != own:
                raise UserError(
                    f"{name} is {getattr(tokenizer, name)} in the tokenizer but {own} in the "
                    "model: use the tokenizer that belongs to it, or a configuration with its ids"
                )
        self._grow(len(tokenizer))
        vocabulary = tokenizer.get_vocab()
        if SEGMENT_START in vocabulary and SEGMENT_END in vocabulary:
            self.add_segment_ids(vocabulary[SEGMENT_START], vocabulary[SEGMENT_END])

    def check_tokenizer(
        self, tokenizer: PreTrainedTokenizerBase, place: str | PathLike[str]
    ) -> None:
        """Refuse a tokenizer that belongs to another model, as far as can be seen."""
        vocabulary = tokenizer.get_vocab()
        theirs = [vocabulary.get(SEGMENT_START), vocabulary.get(SEGMENT_END)]
        theirs += [tokenizer.pad_token_id, tokenizer.eos_token_id]
        if theirs != [*self._segment_tokens(), self.pad, self.sentence_end]:
            raise UserError(f"{place}: the tokenizer is not the model's: special tokens differ")
        size = max(vocabulary.values()) + 1
        if size > self.vocabulary_size:
            raise UserError(
                f"{place}: the tokenizer is not the model's: it has {size} tokens, and the model "
                f"{self.vocabulary_size}"
            )

    def _grow(self, size: int) -> None:
        if size > self.vocabulary_size:
            self.keep_untied()
            # New rows are drawn around the mean of the old ones: they take little probability.
            self.model.resize_token_embeddings(size)

    def keep_untied(self) -> None:
        """Remember that the head has weights of its own, as in T5 v1.1, mT5 and ByT5.

        transformers declares every head of a T5 tied, and learns otherwise only while it loads one:
        it would tie them the next time that the model is resized or made a part of another. To be
        called once the weights are there.
        """
        head = self.model.get_output_embeddings().weight
        if head is self.model.get_input_embeddings().weight:
            return
        parameters = self.model.named_parameters(remove_duplicate=False)
        names = {name for name, weight in parameters if weight is head}
        for attribute in ("_tied_weights_keys", "all_tied_weights_keys"):
            tied = getattr(self.model, attribute) or {}
            kept = {name: to for name, to in tied.items() if name not in names}
            setattr(self.model, attribute, kept)

    def set_languages(
        self,
        source: int | str,
        target: int | str,
        tokenizer: PreTrainedTokenizerBase | None = None,
    ) -> None:
        """Say which languages are read and written: token ids, or codes that a tokenizer knows.

        This concerns the decoder. The encoder's language token is in ``input_ids``: the tokenizer
        puts it there.
        """
        if not self.family.language_codes:
            raise UserError(
                f"{self.model.config.model_type} models have no language codes: they translate "
                "what they were trained on, or take the language as words in the text"
            )
        ids = [language_id(language, tokenizer) for language in (source, target)]
        for language, token in zip((source, target), ids, strict=True):
            if not 0 <= token < self.vocabulary_size:
                raise UserError(
                    f"language {language!r} has token {token}, but the model has "
                    f"{self.vocabulary_size}: call resize(tokenizer) first"
                )
        self.model.config.source_language_token_id, self.model.config.target_language_token_id = ids

    @property
    def lacks_language(self) -> bool:
        """True if the model marks languages and does not know which it reads or writes.

        A checkpoint may know the one that it writes; what its tokenizer reads is another question.
        """
        languages = (self._language(reverse=True), self._language(reverse=False))
        return self.family.language_codes and None in languages

    def _language(self, reverse: bool) -> int | None:
        if not self.family.language_codes:
            return None
        name = "source_language_token_id" if reverse else "target_language_token_id"
        language: int | None = getattr(self.model.config, name, None)
        return language

    def _note_only_language(self) -> None:
        """Write down the language of a checkpoint that was made for one target language.

        It stands in the settings of generation, which are not saved with this model.
        """
        config, settings = self.model.config, getattr(self.model, "generation_config", None)
        forced = getattr(settings, "forced_bos_token_id", None)
        known = getattr(config, "target_language_token_id", None)
        if self.family.language_codes and forced is not None and known is None:
            config.target_language_token_id = forced

    def _start_or_none(self) -> int | None:
        try:
            return self.sentence_start
        except ValueError:  # mBART before its languages are known
            return None
