"""The seq2seq model as a phrase translator, and its source parser as the grammar."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.decoding.encoding import (
    Source,
    check_sources,
    encode_sources,
    padded_states,
    phrase_states,
    to_device,
)
from btg_seq2seq.decoding.phrase_translator import (
    Floats,
    Integers,
    KBest,
    PhraseTranslator,
    SentenceSpan,
    Tokens,
)
from btg_seq2seq.decoding.search.batches import most_rows, pass_batches, search_batches
from btg_seq2seq.decoding.search.beam_search import Beams, beam_search
from btg_seq2seq.decoding.search.level import Level
from btg_seq2seq.decoding.source_grammar import SourceGrammar
from btg_seq2seq.derivations.lexical.word_tables import WordTables
from btg_seq2seq.grammar.packing import split_count
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.modes import evaluating
from btg_seq2seq.text.batches import IGNORED

Item = TypeVar("Item")

# Infinite scores of a model are cut to this size.
LARGEST_SCORE = 1e6
MOST_SPLITS = 2**22  # scored at a time


class Seq2SeqPhrases(PhraseTranslator):
    """Sentences with their encoder states, which are computed once.

    Phrases are decoded in batches of similar length. Translations come from beam search, within the
    limits of length that the settings have.

    Args:
        model: the model.
        sources: token ids of the sentences with the frame that the tokenizer gives them.
        settings: beam size, limits of length and sizes of batches; defaults to the model's own.
        posts: where the units of each sentence meet, in tokens without the frame; defaults to the
            model's own units.
        tables: word-translation tables, for lexical features.
    """

    def __init__(
        self,
        model: BTGSeq2Seq,
        sources: Sequence[Sequence[int]],
        settings: DecodingSettings | None = None,
        posts: Sequence[Sequence[int]] | None = None,
        tables: WordTables | None = None,
    ) -> None:
        check_sources(model, sources)
        self.tables = tables
        self.model, self.settings = model, settings or model.decoding
        if model.unit_table is not None:
            self.unit_table = model.unit_table.cpu().numpy()
        given = [None] * len(sources) if posts is None else posts
        self.sources = [Source.of(model, *own) for own in zip(sources, given, strict=True)]
        self.lengths = [source.units for source in self.sources]
        self._tokens = [tuple(source.unframed_tokens.tolist()) for source in self.sources]

    @property
    def grammar(self) -> SourceGrammar:
        """The model's source parser and its settings of the grammar."""
        config = self.model.config
        return SourceGrammar(
            self.split_scores,
            max_segments=config.max_segments,
            max_phrase_length=config.max_phrase_length,
        )

    def key(self, phrase: SentenceSpan) -> Hashable:
        """Name a phrase: one that is encoded alone is the same wherever it stands."""
        if self.model.config.phrase_encoding == "alone":
            return self._phrase_tokens(phrase)
        return phrase

    def longest_output(self, sentence: int, phrases: int = 1) -> int:
        """Return the limit of the settings; each phrase is rounded up and has its own extra."""
        settings, length = self.settings, self.sources[sentence].length
        return settings.longest_output(length) + (phrases - 1) * (settings.max_output_extra + 1)

    def _phrase_tokens(self, phrase: SentenceSpan) -> Tokens:
        sentence, start, stop = phrase
        return self._tokens[sentence][slice(*self.sources[sentence].in_tokens(start, stop))]

    def _length(self, phrase: SentenceSpan) -> int:
        """The number of tokens of a phrase."""
        sentence, start, stop = phrase
        first, last = self.sources[sentence].in_tokens(start, stop)
        return last - first

    def can_write(self, sentence: int, target: Tokens) -> bool:
        """Return whether a target has no special tokens and is within the limits of length."""
        level = Level.sentence(self.model.backbone)
        longest = level.longest(self.model.backbone, self.longest_output(sentence))
        return len(target) <= longest and not {*target} & {*level.banned, level.end}

    def translate_sentences(self, sentences: Sequence[int]) -> KBest:
        """Encode and translate whole sentences."""
        limits = [self.longest_output(sentence) for sentence in sentences]
        lengths = [len(self.sources[sentence].tokens) for sentence in sentences]
        level = Level.sentence(self.model.backbone)
        return self._search(level, sentences, self._sentence_states, lengths, limits)

    def translate_phrases(self, phrases: Sequence[SentenceSpan]) -> KBest:
        """Translate phrases in batches of similar length."""
        lengths = [self._length(phrase) for phrase in phrases]
        limits = [self.settings.longest_output(length) for length in lengths]
        level = Level.phrase(self.model.backbone)
        return self._search(level, phrases, self._phrase_states, lengths, limits)

    def _search(
        self,
        level: Level,
        items: Sequence[Item],
        states_of: Callable[[Sequence[Item]], tuple[Tensor, Tensor]],
        lengths: Sequence[int],
        limits: Sequence[int],
    ) -> KBest:
        """Search for the translations of sentences or phrases, given how to encode some of them."""
        backbone, settings = self.model.backbone, self.settings
        found = []
        with evaluating(self.model):
            for rows in search_batches(lengths, settings, most_rows(backbone, settings)):
                states, mask = states_of([items[row] for row in rows])
                limit = torch.tensor([limits[row] for row in rows], device=states.device)
                beams = beam_search(backbone, level, states, mask, limit, settings)
                found.append((rows, _packed(beams)))
        return KBest.joined(found)

    def score_sentences(self, sentences: Sequence[int], targets: Sequence[Tokens]) -> list[float]:
        """Compute ``log p(y | x)``, whatever tokens a target has and however long it is."""
        backbone = self.model.backbone
        lengths = [
            max(len(self.sources[sentence].tokens), len(target))
            for sentence, target in zip(sentences, targets, strict=True)
        ]
        result = [0.0] * len(targets)
        with evaluating(self.model):
            for rows in pass_batches(lengths, self.settings):
                states, mask = self._sentence_states([sentences[row] for row in rows])
                ended = [
                    to_device(self.model, (*targets[row], backbone.sentence_end)) for row in rows
                ]
                labels = pad_sequence(ended, batch_first=True, padding_value=IGNORED)
                decoded = backbone.decode_labels(labels, states, mask)
                log_probs = backbone.token_log_probs(decoded, labels).double().sum(1).tolist()
                for row, log_prob in zip(rows, log_probs, strict=True):
                    result[row] = log_prob
        return result

    def score_prefixes(
        self, phrases: Sequence[SentenceSpan], targets: Sequence[Tokens]
    ) -> list[Floats]:
        """Score the prefixes that beam search could find; see ``PhraseTranslator``."""
        backbone = self.model.backbone
        result: list[Floats] = [np.zeros(0)] * len(targets)
        if not phrases:
            return result
        level = Level.phrase(backbone)
        forbidden = {*level.banned, level.end}
        usable: dict[int, Tokens] = {}
        for row, (phrase, target) in enumerate(zip(phrases, targets, strict=True)):
            limit = level.longest(backbone, self.settings.longest_output(self._length(phrase)))
            prefix = target[:limit]
            end = next((at for at, token in enumerate(prefix) if token in forbidden), len(prefix))
            if end > 0:
                usable[row] = prefix[:end]
        scores = self._prefix_log_probs([phrases[row] for row in usable], list(usable.values()))
        for row, own in zip(usable, scores, strict=True):
            result[row] = own
        return result

    def score_phrases(
        self, phrases: Sequence[SentenceSpan], targets: Sequence[Tokens]
    ) -> list[float]:
        """Score targets, whatever tokens they have, that the model has positions for."""
        backbone = self.model.backbone
        result = [-np.inf] * len(targets)
        rows = [
            row
            for row, target in enumerate(targets)
            if Level.phrase(backbone).longest(backbone, len(target)) == len(target)
        ]
        scores = self._prefix_log_probs(
            [phrases[row] for row in rows], [targets[row] for row in rows]
        )
        for row, own in zip(rows, scores, strict=True):
            result[row] = float(own[-1])
        return result

    def source_tokens(self, phrases: Sequence[SentenceSpan]) -> tuple[Integers, Integers]:
        """Return the tokens of phrases without any frame."""
        rows = [self._phrase_tokens(phrase) for phrase in phrases]
        lengths = np.array([len(row) for row in rows], np.int64)
        return np.array([token for row in rows for token in row], np.int64), lengths

    def reverse_scores(self, phrases: Sequence[SentenceSpan], found: KBest) -> Floats:
        """Compute ``log p(source phrase | string)``; strings are encoded alone, as in training.

        Where there is nothing to read, as in an empty string, or more than the model has positions
        for, all tokens of the source are equally likely.
        """
        backbone = self.model.backbone
        strings = found.lists()
        every = [
            (self._phrase_tokens(phrase), string)
            for phrase, own in zip(phrases, strings, strict=True)
            for string, _ in own
        ]
        pairs = list(dict.fromkeys(every))  # many phrases occur in several sentences
        result = np.array([-(len(x) + 1) * np.log(backbone.vocabulary_size) for x, _ in pairs])
        most = backbone.family.longest(backbone.model.config)
        room = len(self.model.config.reverse_prefix) + len(self.model.config.reverse_suffix)
        room = max(room, len(backbone.phrase_prompt(reverse=True)))
        usable = [
            row
            for row, (x, y) in enumerate(pairs)
            if y and (most is None or max(len(x), len(y)) + room <= most)
        ]
        with evaluating(self.model):
            lengths = [max(len(side) for side in pairs[row]) for row in usable]
            for batch in pass_batches(lengths, self.settings):
                rows = [usable[place] for place in batch]
                read = [to_device(self.model, pairs[row][1]) for row in rows]
                tokens = pad_sequence(read, batch_first=True, padding_value=backbone.pad)
                sizes = torch.tensor([len(row) for row in read], device=tokens.device)
                states, mask = self.model.encode_alone(tokens, sizes, reverse=True)
                ended = [
                    to_device(self.model, (*pairs[row][0], backbone.segment_end)) for row in rows
                ]
                labels = pad_sequence(ended, batch_first=True, padding_value=IGNORED)
                prompt = backbone.phrase_prompt(reverse=True)
                decoded = backbone.decode_labels(labels, states, mask, prompt)
                log_probs = backbone.token_log_probs(decoded, labels).double().sum(1)
                result[rows] = log_probs.cpu().numpy()
        rank = {pair: number for number, pair in enumerate(pairs)}
        return result[[rank[pair] for pair in every]]

    def split_scores(self, sentences: Sequence[int]) -> list[Floats]:
        """Compute the split scores of the source parser, ``[splits, 2]`` per sentence."""
        result: dict[int, Floats] = {}
        with evaluating(self.model):
            lengths = [len(self.sources[sentence].tokens) for sentence in sentences]
            for rows in pass_batches(lengths, self.settings):
                chosen = [sentences[row] for row in rows]
                self._encode(chosen)
                result.update(zip(chosen, self._batch_split_scores(chosen), strict=True))
        return [result[sentence] for sentence in sentences]

    def _batch_split_scores(self, sentences: Sequence[int]) -> list[Floats]:
        result: list[Floats] = []
        sources = [self.sources[sentence] for sentence in sentences]
        while len(result) < len(sources):
            # Few at a time where they are long: there are about length^3 / 6 splits.
            first = len(result)
            longest = max(source.units for source in sources[first:])
            some = sources[first : first + max(1, MOST_SPLITS // max(1, split_count(longest)))]
            states, _ = padded_states([source.unframed_states for source in some])
            lengths = torch.tensor([source.length for source in some], device=states.device)
            units = [source.units for source in some]
            posts = lengths[:, None].repeat(1, max(units) + 1)
            for row, source in zip(posts, some, strict=True):
                row[: len(source.posts)] = torch.tensor(source.posts)
            scores = self.model.prior(states, lengths, posts).double()
            finite = scores.nan_to_num(0.0, LARGEST_SCORE, -LARGEST_SCORE).cpu().numpy()
            # Copies, so that no sentence keeps the padding of the others.
            result += [row[: split_count(n)].copy() for row, n in zip(finite, units, strict=True)]
        return result

    def _encode(self, sentences: Sequence[int]) -> None:
        """Encode those of the sentences that are not encoded yet, in batches of similar length."""
        new = [sentence for sentence in sentences if self.sources[sentence].encoded is None]
        for rows in pass_batches([len(self.sources[one].tokens) for one in new], self.settings):
            encoded = encode_sources(self.model, [self.sources[new[row]] for row in rows])
            for row, source in zip(rows, encoded, strict=True):
                self.sources[new[row]] = source

    def _sentence_states(self, sentences: Sequence[int]) -> tuple[Tensor, Tensor]:
        self._encode(sentences)
        return padded_states([self.sources[sentence].states for sentence in sentences])

    def _phrase_states(self, phrases: Sequence[SentenceSpan]) -> tuple[Tensor, Tensor]:
        if self.model.config.phrase_encoding != "alone":
            self._encode(sorted({sentence for sentence, *_ in phrases}))
        spans = [(self.sources[sentence], start, stop) for sentence, start, stop in phrases]
        return phrase_states(self.model, spans)

    def _prefix_log_probs(
        self, phrases: Sequence[SentenceSpan], targets: Sequence[Tokens]
    ) -> list[Floats]:
        """Log-probabilities of all prefixes of each target, ``[len(target)]`` each."""
        result: list[Floats] = [np.zeros(0)] * len(targets)
        with evaluating(self.model):
            for rows in pass_batches([len(target) for target in targets], self.settings):
                used = list(dict.fromkeys(phrases[row] for row in rows))
                states, mask = self._phrase_states(used)
                rank = {phrase: number for number, phrase in enumerate(used)}
                which = torch.tensor([rank[phrases[row]] for row in rows], device=states.device)
                chosen = [to_device(self.model, targets[row]) for row in rows]
                pad = self.model.backbone.pad
                tokens = pad_sequence(chosen, batch_first=True, padding_value=pad)
                scores = self.model.prefix_log_probs(tokens, states[which], mask[which])
                for row, own in zip(rows, scores.double().cpu().numpy(), strict=True):
                    result[row] = own[: len(targets[row])]
        return result


def _packed(beams: Beams) -> KBest:
    """The strings that beam search has found."""
    is_string = beams.log_probs > -torch.inf  # [rows, beam]
    place = torch.arange(beams.tokens.shape[2], device=is_string.device)
    is_token = is_string[..., None] & (place < beams.lengths[..., None])
    return KBest(
        beams.tokens[is_token].cpu().numpy(),
        beams.lengths[is_string].cpu().numpy(),
        beams.log_probs[is_string].cpu().numpy().astype(np.float64),
        is_string.sum(1).cpu().numpy(),
    )
