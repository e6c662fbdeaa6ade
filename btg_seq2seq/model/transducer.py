"""The model: one encoder-decoder, three scorers, and what they say of a pair of sentences.

Section 2 of the paper and its appendix on parameterisation. One flat pass ``x -> y`` gives the
sentence's likelihood, the prior's features (the encoder's states over x) and the leaf CRF's (the
decoder's states over y); one reversed pass gives the posterior's features. What is made of them is
the objective's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from btg_seq2seq import __version__
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.manifest import MODEL_FILES, verify_files, write_manifest
from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.model.config import BTGSeq2SeqConfig, open_btg_config
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import open_weights
from btg_seq2seq.model.objective import Objective, default_objective
from btg_seq2seq.model.phrases import PhrasePairs, PhraseRow, last_tokens, own_phrase_mask
from btg_seq2seq.model.reading import BTGSeq2SeqOutput, Pair, Reading, Side
from btg_seq2seq.model.scorer import SplitScorer
from btg_seq2seq.model.tuned.tuned_settings import TunedSettings
from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.units import unit_table


class BTGSeq2Seq(PreTrainedModel):  # type: ignore[no-untyped-call]
    """A seq2seq model that translates phrases of every size, and parsers that cut sentences."""

    config_class = BTGSeq2SeqConfig
    base_model_prefix = "backbone"
    _supports_sdpa = True  # what the backbone uses, transformers asks of the whole model
    unit_table: Tensor | None  # [vocabulary], see ``text.units``; None if units are tokens

    def __init__(
        self,
        config: BTGSeq2SeqConfig,
        backbone: Backbone | None = None,
        objective: Objective | None = None,
    ) -> None:
        super().__init__(config)
        self.objective = default_objective() if objective is None else objective
        # Defaults of translation, and what was tuned for each mode, saved beside the weights.
        self.decoding, self.tuned = DecodingSettings(), TunedSettings()
        if backbone is None:
            if config.backbone is None:
                raise UserError("the configuration names no backbone")
            backbone = Backbone.load(config.backbone)
        self.backbone = backbone
        hidden, width = self.backbone.hidden_size, config.scorer_width
        # Straight and inverted splits; those of the target are always straight.
        self.prior = SplitScorer(hidden, 2, width)
        self.posterior = None if config.share_scorers else SplitScorer(hidden, 2, width)
        self.leaves = None if config.share_scorers else SplitScorer(hidden, 1, width)
        size = self.backbone.vocabulary_size
        table = torch.zeros(size, dtype=torch.uint8) if config.units == "words" else None
        self.register_buffer("unit_table", table)
        self.post_init()  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def _init_weights(self, module: torch.nn.Module) -> None:
        if isinstance(module, SplitScorer):
            module.reset_parameters()

    @classmethod
    def from_backbone(
        cls,
        backbone: str | PathLike[str] | PreTrainedConfig | PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None = None,
        **settings: Any,
    ) -> BTGSeq2Seq:
        """Around a model, its directory or hub name, or a configuration for random weights.

        ``settings`` are those of ``BTGSeq2SeqConfig``; what surrounds a sentence, its language and
        its words are asked of the tokenizer, if there is one. Without a tokenizer, words are not
        known, and the units of the grammar are tokens.
        """
        loaded = Backbone.load(backbone, tokenizer)
        if tokenizer is not None:
            if not loaded.has_segment_tokens:
                raise UserError(
                    "the tokenizer has no tokens for the start and end of a phrase: call "
                    "btg_seq2seq.text.add_segment_tokens(tokenizer) first"
                )
            settings = {**Frames.of(tokenizer).settings, **settings}
            reads, writes = (getattr(tokenizer, name, None) for name in ("src_lang", "tgt_lang"))
            if loaded.lacks_language and reads is not None and writes is not None:
                loaded.set_languages(reads, writes, tokenizer)
        elif settings.setdefault("units", "tokens") == "words":
            raise UserError("units: words are only known with a tokenizer; give it too")
        model = cls(BTGSeq2SeqConfig(backbone=loaded.model.config, **settings), loaded)
        if model.unit_table is not None and tokenizer is not None:
            table = unit_table(tokenizer)
            model.unit_table[: len(table)] = table
        return model

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, directory: str | PathLike[str], **options: Any
    ) -> BTGSeq2Seq:
        """Load a saved model; missing or damaged files raise ``UserError``.

        ``verify=False`` skips the comparison of the files with their checksums.
        """
        verify = options.pop("verify", True)
        config = options.pop("config", None) or open_btg_config(directory)
        if verify and config.written_by is not None:  # older models have no checksums
            verify_files(Path(directory))
        decoding, tuned = DecodingSettings.load(directory), TunedSettings.load(directory)
        loaded: BTGSeq2Seq = open_weights(super(), directory, config=config, **options)
        loaded.decoding, loaded.tuned = decoding, tuned
        return loaded

    def save_pretrained(self, save_directory: str | PathLike[str], **options: Any) -> None:  # type: ignore[override]
        """Write the model, its decoding defaults, and the checksums of all files."""
        self.config.written_by = __version__
        save: Any = super().save_pretrained
        save(save_directory, **options)
        if options.get("is_main_process", True):
            self.decoding.save(save_directory)
            if self.tuned.modes:
                self.tuned.save(save_directory)
            write_manifest(Path(save_directory), MODEL_FILES)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor,
        index: Tensor | None = None,
        trees: Sequence[Tree | str] | None = None,
        segmentations: Sequence[Segmentation] | None = None,
        proposal_log_probs: Tensor | None = None,
        flat_only: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
    ) -> BTGSeq2SeqOutput:
        """The training loss of a batch, as the model's objective defines it.

        Args:
            input_ids, attention_mask: ``[batch, source]``, as the tokenizer makes them.
            labels: ``[batch, target]``, a sentence's own tokens and the end token; -100 in the
                padding. What else a tokenizer puts around a target, such as a language code, is in
                the decoder's prompt already.
            index: ``[batch]``, where the sentences stand in their files: what is drawn for a
                sentence depends on it, and not on the rest of the batch.
            trees: gold trees, printed or not, one per sentence.
            segmentations: gold target phrases, one for each leaf of a tree; where they are given,
                they and the trees are learned from, and none are looked for.
            proposal_log_probs: ``[batch]``, log-probability of each tree in the distribution that
                it was drawn from. With it, trees and segmentations are not learned from: they are
                proposals, for an estimator that compares derivations.
            flat_only: ``[batch]``, which sentences are learned whole, without trees.
            num_items_in_batch: target tokens that the loss is divided by, where this is a part of
                a larger batch; else those of this one.
        """
        if not self.objective.needs_trees(self):
            flat_only = torch.ones_like(input_ids[:, 0], dtype=torch.bool)
        learns_reversed = self.objective.learns_reversed
        reading = self.read(input_ids, attention_mask, labels, flat_only, learns_reversed)
        given = (trees, segmentations, proposal_log_probs)
        return self.objective(self, reading, index, *given, num_items_in_batch)

    def read(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        labels: Tensor,
        flat_only: Tensor | None = None,
        learns_reversed: bool = True,
    ) -> Reading:
        """Run the flat pass over a batch, and the reversed pass over what the grammar can hold.

        Without ``learns_reversed``, the reversed pass keeps nothing for a gradient.
        """
        backbone, config = self.backbone, self.config
        source = self._side(input_ids, attention_mask, config.prefix, config.suffix)
        target = self._side(labels, labels != IGNORED, [], [backbone.sentence_end])
        self._check_frames(input_ids, labels, target.lengths)
        states = backbone.encode(input_ids, attention_mask)
        decoded = backbone.decode_labels(labels, states, attention_mask)
        longest = torch.maximum(source.units, target.units)
        grammatical = longest <= config.max_grammar_length
        if flat_only is not None:
            grammatical = grammatical & ~flat_only
        rows = grammatical.nonzero()[:, 0]
        pair = None
        if len(rows):
            states = states[rows, len(config.prefix) :]
            # The state that predicts token t + 1 is the first to have read token t.
            sides, read = (source[rows], target[rows]), decoded[rows, 1:]
            pair = self._parse(*sides, states, read, learns_reversed)
        return Reading(backbone, decoded, labels, rows, pair)

    def _parse(
        self, source: Side, target: Side, states: Tensor, decoded: Tensor, learns_reversed: bool
    ) -> Pair:
        """Scores of the three parsers; for the posterior, y is encoded and x decoded."""
        backbone, config = self.backbone, self.config
        frame = config.reverse_prefix, config.reverse_suffix
        framed, mask = self._framed(target.tokens, target.lengths, *frame)
        ending = torch.full_like(source.tokens[:, :1], backbone.sentence_end)
        read = torch.cat([source.tokens, ending], 1)  # its last position is not used
        prompt = backbone.sentence_prompt(reverse=True)
        with torch.set_grad_enabled(learns_reversed and torch.is_grad_enabled()):
            encoded = backbone.encode(framed, mask)
            parsed = backbone.decode_labels(read, encoded, mask, prompt)[:, 1:]
        return Pair(source, target, states, *self.scores(source, target, states, parsed, decoded))

    def scores(
        self, source: Side, target: Side, states: Tensor, parsed: Tensor, decoded: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of prior, posterior and leaves, as in ``Pair``.

        ``states`` are the encoder's over the source, ``parsed`` the decoder's over the source, and
        ``decoded`` the decoder's over the target, each after it has read a token.
        """
        units = source.lengths, source.posts
        prior = self.prior(states, *units)
        posterior = (self.posterior or self.prior)(parsed, *units)
        if self.config.residual_posterior:
            posterior = posterior + prior.detach()
        leaves = (self.leaves or self.prior)(decoded, target.lengths, target.posts)[..., 0]
        return prior, posterior, leaves

    def _side(self, tokens: Tensor, mask: Tensor, prefix: list[int], suffix: list[int]) -> Side:
        lengths = mask.sum(1) - len(prefix) - len(suffix)  # [batch]
        if bool((lengths < 1).any()):
            sentence = int((lengths < 1).nonzero()[0, 0])
            raise UserError(f"sentence {sentence}: one side has no tokens of its own")
        own = tokens[:, len(prefix) : len(prefix) + int(lengths.max())]
        position = torch.arange(own.shape[1], device=tokens.device)
        own = own.masked_fill(position >= lengths[:, None], self.backbone.pad)
        return Side.of(own, lengths, self.unit_table)

    def _check_frames(self, input_ids: Tensor, labels: Tensor, lengths: Tensor) -> None:
        """Refuse a batch whose frames would be taken for words."""
        prompt, prefix = self.backbone.sentence_prompt(), self.config.prefix
        is_wrong = labels.gather(1, lengths[:, None])[:, 0] != self.backbone.sentence_end
        if len(prompt) > 1:
            is_wrong |= labels[:, 0] == prompt[-1]
        if bool(is_wrong.any()):
            raise UserError(
                f"labels of sentence {int(is_wrong.nonzero()[0, 0])}: they must be a sentence's "
                f"own tokens and the end token {self.backbone.sentence_end}; what else a tokenizer "
                f"puts around them is in the decoder's prompt {list(prompt)} already: remove it"
            )
        is_wrong = (input_ids[:, : len(prefix)] != input_ids.new_tensor(prefix)).any(1)
        if bool(is_wrong.any()):
            raise UserError(
                f"input_ids of sentence {int(is_wrong.nonzero()[0, 0])}: they must begin with "
                f"{prefix}, as those of the tokenizer that the model was made with"
            )

    def _framed(
        self, tokens: Tensor, lengths: Tensor, prefix: list[int], suffix: list[int]
    ) -> tuple[Tensor, Tensor]:
        """The encoder's input for one side and its mask, ``[batch, framed]``."""
        before = tokens.new_tensor(prefix).expand(len(tokens), -1)
        room = tokens.new_full((len(tokens), len(suffix)), self.backbone.pad)
        framed = torch.cat([before, tokens, room], 1)
        places = len(prefix) + lengths[:, None]
        for offset, token in enumerate(suffix):
            framed = framed.scatter(1, places + offset, token)
        position = torch.arange(framed.shape[1], device=framed.device)
        return framed, position < places + len(suffix)

    def phrase_log_probs(self, pair: Pair, pairs: PhrasePairs, *, reverse: bool = False) -> Tensor:
        """Log-probability of each phrase given the one it translates, ``[batch, phrases]``.

        ``pairs`` are units, in the order of the generated side: the target, or with ``reverse``
        the source. Reversed phrases are always encoded alone.
        """
        read, written = (pair.target, pair.source) if reverse else (pair.source, pair.target)
        pairs = pairs.in_tokens(written, read)
        if not self.backbone.family.relative_positions:
            return self._phrase_log_probs_by_row(pair, pairs, read, written, reverse)
        encoding = "alone" if reverse else self.config.phrase_encoding
        states = pair.states
        if encoding != "sentence":
            length = read.tokens.shape[1]
            mask, ends = own_phrase_mask(pairs.others, length), last_tokens(pairs.others, length)
            alone = self.backbone.encode(read.tokens, mask, ends)
            states = alone if encoding == "alone" else (alone + states[:, :length]) / 2
        row = PhraseRow.pack(
            written.tokens,
            pairs,
            states.shape[1],
            self.backbone.segment_start,
            self.backbone.segment_end,
            self.backbone.pad,
        )
        decoded = self.backbone.decode(row.inputs, states, row.cross_mask, row.self_mask)
        log_probs = self.backbone.token_log_probs(decoded, row.labels)
        return row.sum_by_phrase(log_probs, pairs.others.shape[1])

    def _phrase_log_probs_by_row(
        self, pair: Pair, pairs: PhrasePairs, read: Side, written: Side, reverse: bool
    ) -> Tensor:
        """The same with a row for each phrase, for models that number their positions."""
        backbone = self.backbone
        batch, phrases = pairs.others.shape[:2]
        is_phrase = torch.arange(phrases, device=read.tokens.device) < pairs.segments[:, None]
        sentence = is_phrase.nonzero()[:, 0]  # [rows]
        starts, stops = pairs.others[is_phrase].unbind(-1)
        states, mask = self._token_states(pair, sentence, starts, stops, reverse)
        begins, ends = pairs.fenceposts[:, :-1][is_phrase], pairs.fenceposts[:, 1:][is_phrase]
        own = _slices(written.tokens[sentence], begins, ends)  # [rows, longest phrase]
        place, length = torch.arange(own.shape[1] + 1, device=own.device), (ends - begins)[:, None]
        own = torch.cat([own, own[:, :1]], 1)
        own = torch.where(place == length, backbone.segment_end, own)
        labels = own.masked_fill(place > length, IGNORED)
        prompt = backbone.phrase_prompt(reverse=reverse)
        decoded = backbone.decode_labels(labels, states, mask, prompt)
        log_probs = backbone.token_log_probs(decoded, labels).sum(1)
        return log_probs.new_zeros(batch, phrases).masked_scatter(is_phrase, log_probs)

    def phrase_states(
        self, pair: Pair, sentence: Tensor, start: Tensor, stop: Tensor, *, reverse: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Encoder states of phrases, ``[phrases, longest, hidden]``, and which are real.

        A phrase is the units ``[start, stop)`` of a ``sentence`` of ``pair``, of its target if
        ``reverse``.
        """
        posts = (pair.target if reverse else pair.source).posts
        return self._token_states(
            pair, sentence, posts[sentence, start], posts[sentence, stop], reverse
        )

    def _token_states(
        self, pair: Pair, sentence: Tensor, start: Tensor, stop: Tensor, reverse: bool
    ) -> tuple[Tensor, Tensor]:
        """The same for tokens ``[start, stop)``."""
        read, lengths = pair.target if reverse else pair.source, stop - start
        encoding = "alone" if reverse else self.config.phrase_encoding
        if encoding == "sentence":
            states = _slices(pair.states[sentence], start, stop)
            return states, torch.arange(states.shape[1], device=states.device) < lengths[:, None]
        tokens = _slices(read.tokens[sentence], start, stop)
        alone, mask = self.encode_alone(tokens, lengths, reverse=reverse)
        if encoding == "alone":
            return alone, mask
        return (alone + _slices(pair.states[sentence], start, stop)) / 2, mask

    def encode_alone(
        self, tokens: Tensor, lengths: Tensor, *, reverse: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Encoder states of phrases by themselves, ``[phrases, longest, hidden]``, and a mask.

        ``tokens`` are ``[phrases, longest]`` with ``lengths``, ``[phrases]``. They are framed like
        sentences where positions are numbered, and else as where many of them share a row: only
        their last token is marked.
        """
        config = self.config
        prefix, suffix = config.prefix, config.suffix
        if reverse:
            prefix, suffix = config.reverse_prefix, config.reverse_suffix
        ends = None
        if self.backbone.family.relative_positions:
            prefix, suffix = [], []
            place = torch.arange(tokens.shape[1], device=tokens.device)
            ends = place == lengths[:, None] - 1
        states = self.backbone.encode(*self._framed(tokens, lengths, prefix, suffix), ends)
        states = states[:, len(prefix) : len(prefix) + int(lengths.max())]
        mask = torch.arange(states.shape[1], device=states.device) < lengths[:, None]
        return states, mask

    def prefix_log_probs(self, tokens: Tensor, states: Tensor, mask: Tensor) -> Tensor:
        """Log-probability of each prefix of ``tokens`` as a phrase's translation.

        ``[rows, width]``: the first token and then the end of the phrase, the first two, and so on.
        """
        backbone = self.backbone
        labels = torch.cat([tokens, tokens[:, :1]], 1)  # the last only makes room for an end
        decoded = backbone.decode_labels(labels, states, mask, backbone.phrase_prompt())
        return backbone.prefix_log_probs(decoded, tokens, backbone.segment_end)


def _slices(rows: Tensor, starts: Tensor, stops: Tensor) -> Tensor:
    """``row[start:stop]`` of each row, padded with what follows: ``[rows, longest, ...]``."""
    width = int((stops - starts).max())
    place = starts[:, None] + torch.arange(width, device=rows.device)
    place = place.clamp(max=rows.shape[1] - 1)
    return rows[torch.arange(len(rows), device=rows.device)[:, None], place]
