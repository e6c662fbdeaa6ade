"""Translation of texts: flat, or by the grammar with rules.

The steps: tokenize the text, find rules in it, decode, and turn token strings back into texts with
the origin of every word.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.decoding.flat import decode_flat
from btg_seq2seq.decoding.search.level import Level
from btg_seq2seq.decoding.seq2seq_phrases import Seq2SeqPhrases
from btg_seq2seq.derivations.best import best_derivations
from btg_seq2seq.derivations.lexical.saved_tables import load_tables
from btg_seq2seq.derivations.lexical.word_tables import WordTables
from btg_seq2seq.errors import SentenceError, UserError
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.model.tuned.tuned_settings import TunedSettings
from btg_seq2seq.text import TextSide, load_tokenizer
from btg_seq2seq.translation.alignment import aligned
from btg_seq2seq.translation.inputs import (
    REMEDY,
    SentenceLengthError,
    Target,
    check_pairs,
    check_text,
    check_texts,
    reads_as_its_text,
)
from btg_seq2seq.translation.prepared_texts import (
    PreparedTexts,
    check_nbest,
    chunks,
    ranking_of,
    warn_about,
)
from btg_seq2seq.translation.rules.apply import RuledText
from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.translation.scoring import Score, score_strings
from btg_seq2seq.translation.target_text import TargetWriter
from btg_seq2seq.translation.text_hypotheses import to_translation
from btg_seq2seq.translation.tokenized_text import TextReader, TokenizedText
from btg_seq2seq.translation.translation import Translation

TranslationMode = Literal["flat", "cky", "rescored"]


class Translator:
    """A model and its tokenizer, to translate, score and align texts.

    ``settings`` are the defaults of every call. They default to those saved beside the model, with
    what was tuned for the mode of the call. ``tables`` are word-translation tables, for lexical
    features.
    """

    def __init__(
        self,
        model: BTGSeq2Seq,
        tokenizer: PreTrainedTokenizerBase,
        settings: DecodingSettings | None = None,
        tables: WordTables | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.settings = settings or model.decoding
        self.tuned = model.tuned if settings is None else TunedSettings()
        self.tables = tables
        self.reader = TextReader(tokenizer, model.unit_table)
        self.writer = TargetWriter(tokenizer)

    @classmethod
    def from_pretrained(
        cls,
        directory: str | PathLike[str],
        settings: DecodingSettings | None = None,
        device: str | torch.device = "cpu",
        verify: bool = True,
    ) -> Translator:
        """Load a model and its tokenizer, as ``btg train`` writes them.

        ``verify=False`` does not compare the files with their checksums, which saves time.
        """
        model: Any = BTGSeq2Seq.from_pretrained(directory, verify=verify)
        tokenizer = load_tokenizer(Path(directory))
        model.backbone.check_tokenizer(tokenizer, directory)
        tables = load_tables(directory, model.backbone.vocabulary_size)
        return cls(model.to(device), tokenizer, settings, tables)

    def for_another_thread(self) -> Translator:
        """Return a translator with the same weights, settings and tables.

        Its tokenizer is a copy: tokenizers are not made for two threads at a time.
        """
        twin = Translator(self.model, copy.deepcopy(self.tokenizer), self.settings, self.tables)
        twin.tuned = self.tuned
        return twin

    def settings_for(self, mode: str, **settings: Any) -> DecodingSettings:
        """Return the settings of a mode: the defaults, what was tuned, and what is given."""
        return replace(self.tuned.apply(self.settings, mode), **settings)

    def translate(
        self,
        texts: Sequence[str],
        mode: TranslationMode | None = None,
        rules: Iterable[Rule] | RuleSet = (),
        nbest: int = 1,
        **settings: Any,
    ) -> list[Translation]:
        """Translate texts, one sentence each; an empty text has an empty translation.

        Args:
            texts: sentences; results are in the same order and do not depend on each other.
            mode: ``"flat"``: the seq2seq model alone; ``"cky"``: the grammar combines phrases;
                ``"rescored"``: candidates of both, ranked together by features of whole sentences.
                Defaults to cky if there are rules, and to flat otherwise.
            rules: rules to obey; they need cky. Problems with rules, and rules that match nothing,
                are warnings; a ``RuleSet`` collects them instead.
            nbest: number of translations per sentence, including the best; at most ``beam_size``.
            settings: fields of ``DecodingSettings``, such as ``beam_size``.
        """
        rule_set = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        mode = mode or ("cky" if rule_set.rules else "flat")
        if mode not in ("flat", "cky", "rescored"):
            raise UserError(f"mode is flat, cky or rescored, not {mode!r}")
        chosen = self.settings_for(mode, **settings)
        check_nbest(nbest, chosen)
        if mode == "flat" and rule_set.rules:
            raise UserError("flat translation cannot obey rules; use the mode cky, or no rules")
        results: list[Translation] = []
        for chunk in chunks(self.read(texts, chosen), chosen):
            if mode == "flat":
                results += self._translate_flat(chunk, nbest, chosen)
            else:
                results += PreparedTexts(self, chunk, chosen).translate(rule_set, nbest, mode)
        if rule_set is not rules:
            warn_about(rule_set)
        return results

    def prepare(self, texts: Sequence[str], **settings: Any) -> PreparedTexts:
        """Encode texts once, to translate them with different rules."""
        chosen = self.settings_for("cky", **settings)
        sources = self.read(texts, chosen)
        prepared = PreparedTexts(self, sources, chosen)
        prepared.encode(dict(enumerate(sources)))
        return prepared

    def score(
        self, sources: Sequence[str], targets: Sequence[Target], **settings: Any
    ) -> list[Score]:
        """Compute the probabilities of given translations, without rules.

        A target is a text, which the tokenizer turns into one token string; a ``Translation``; or
        token strings. The probabilities of several token strings are added up.
        """
        chosen = self.settings_for("cky", **settings)
        check_pairs(sources, targets)
        read = self.read(sources, chosen)
        for sentence, target in enumerate(targets):
            self.check_target(target, sentence, chosen)
        scores: list[Score] = []
        for chunk in chunks(read, chosen):
            first = len(scores)
            strings = [self.token_strings(target) for target in targets[first : first + len(chunk)]]
            try:
                scores += score_strings(self, chunk, strings, chosen)
            except SentenceError as error:
                raise SentenceError(first + error.sentence, error.reason) from error
        return scores

    def check_target(
        self, target: Target, sentence: int = 0, settings: DecodingSettings | None = None
    ) -> None:
        """Refuse a given translation that cannot be scored.

        It may be as long as a translation of the longest source.
        """
        settings = settings or self.settings
        most = settings.max_length and settings.longest_output(settings.max_length)
        if isinstance(target, str | Translation):
            text = target if isinstance(target, str) else target.text
            check_text(sentence, text, most, "its translation")
        elif not isinstance(target, Sequence):
            raise SentenceError(
                sentence,
                "its translation must be a string, a Translation or lists of numbers of tokens, "
                f"not {type(target).__name__}",
            )
        longest = max(map(len, self.token_strings(target)), default=0)
        if most is not None and longest > most:
            raise SentenceLengthError(
                sentence,
                f"its translation has {longest} tokens, but with max_length = "
                f"{settings.max_length} no more than {most} are allowed; {REMEDY}",
            )
        positions = Level.sentence(self.model.backbone).longest(self.model.backbone, longest)
        if longest > positions:
            raise SentenceLengthError(
                sentence,
                f"its translation has {longest} tokens, but the model writes no more than "
                f"{positions}",
            )
        if isinstance(target, Translation) and not reads_as_its_text(self.writer, target):
            raise SentenceError(
                sentence,
                "'text' is not what 'variants', the tokens that were translated, read as: to score "
                "the text as it is now, leave 'variants' out",
            )

    def token_strings(self, target: Target) -> list[tuple[int, ...]]:
        """Return all token strings of a given translation."""
        if isinstance(target, Translation) and (target.variants or not target.text):
            target = target.variants
        elif isinstance(target, Translation):
            target = target.text
        if isinstance(target, str):
            return [self.writer.encode_sentence(target)]
        return [tuple(tokens) for tokens in target]

    def align(
        self, sources: Sequence[str], targets: Sequence[str], segments: int | None = None
    ) -> list[Translation]:
        """Find the most probable tree of each sentence pair, and target phrases along it.

        ``segments`` is the number of phrases. By default it is the most probable one, but at least
        two if the pair can be cut. A pair with an empty side, or one too long for the grammar, has
        no derivation.
        """
        check_pairs(sources, targets)
        read, written = self.tokenize(sources), self.tokenize(targets, side="target")
        sources_tokens, targets_tokens = ([one.tokens for one in side] for side in (read, written))
        rate = self.settings.segment_rate
        found = best_derivations(self.model, sources_tokens, targets_tokens, segments, rate)
        return [aligned(*pair) for pair in zip(read, written, found, strict=True)]

    def read(
        self, texts: Sequence[str], settings: DecodingSettings | None = None
    ) -> list[TokenizedText]:
        """Tokenize sources; refuse those that are too long for the settings or the model."""
        sources = self.tokenize(texts, settings)
        for sentence, source in enumerate(sources):
            if self.longest is not None and len(self.framed(source.tokens)) > self.longest:
                raise SentenceLengthError(
                    sentence,
                    f"it has {len(source.tokens)} tokens, but the model reads no more than "
                    f"{self.longest}; split it: {source.text[:40]!r}...",
                )
        return sources

    def tokenize(
        self,
        texts: Sequence[str],
        settings: DecodingSettings | None = None,
        side: TextSide = "source",
    ) -> list[TokenizedText]:
        """Tokenize texts; refuse those with more than ``max_length`` tokens."""
        most = (settings or self.settings).max_length
        what = "it" if side == "source" else "its translation"
        check_texts(texts, most, what)
        sources = self.reader.read(texts, side)
        for sentence, source in enumerate(sources):
            if most is not None and len(source.tokens) > most:
                raise SentenceLengthError(
                    sentence,
                    f"{what} has {len(source.tokens)} tokens, more than max_length = {most}; "
                    f"{REMEDY}: {source.text[:40]!r}...",
                )
        return sources

    @property
    def longest(self) -> int | None:
        """Most tokens that the model can read, including the frame; ``None`` for no limit."""
        backbone = self.model.backbone
        return backbone.family.longest(backbone.model.config)

    def phrases(
        self, sources: Sequence[TokenizedText], settings: DecodingSettings | None = None
    ) -> Seq2SeqPhrases:
        """Return the model as the phrase translator of these sentences."""
        framed = [self.framed(source.tokens) for source in sources]
        posts = [source.posts for source in sources]
        return Seq2SeqPhrases(self.model, framed, settings or self.settings, posts, self.tables)

    def framed(self, tokens: Sequence[int]) -> list[int]:
        """Add the tokens that the model expects around a source."""
        config = self.model.config
        return [*config.prefix, *tokens, *config.suffix]

    def _translate_flat(
        self, sources: Sequence[TokenizedText], nbest: int, settings: DecodingSettings
    ) -> list[Translation]:
        rows = [rank for rank, source in enumerate(sources) if source.tokens]
        phrases = self.phrases([sources[rank] for rank in rows], settings)
        # All strings of the beam, since those that read the same are added up.
        found = decode_flat(phrases, settings.beam_size, settings)
        hypotheses = dict(zip(rows, found, strict=True))
        return [
            to_translation(
                self.writer,
                RuledText(source),
                hypotheses.get(rank, []),
                nbest,
                mode="flat",
                ranked_by=ranking_of(settings),
                minimum_risk=settings.minimum_risk,
            )
            for rank, source in enumerate(sources)
        ]
