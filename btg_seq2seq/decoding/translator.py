"""Translation of texts: flat, or by the grammar with rules that are obeyed.

Joins what the other files do: rules are found in the text, the text becomes tokens, the decoder
finds token strings, and these become texts whose words know where they came from.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.decoding.alignment import aligned, best_derivations
from btg_seq2seq.decoding.assignment import Assigner, Assignment
from btg_seq2seq.decoding.beam_search import Level
from btg_seq2seq.decoding.cky import Prepared, prepare
from btg_seq2seq.decoding.flat import decode_flat
from btg_seq2seq.decoding.records import CkyResult, Hypothesis
from btg_seq2seq.decoding.results import Written, log_sum, to_translation
from btg_seq2seq.decoding.rules import Rule, RuleSet
from btg_seq2seq.decoding.scoring import Score, score_strings
from btg_seq2seq.decoding.settings import DecodingSettings
from btg_seq2seq.decoding.source_text import SourceReader, SourceText
from btg_seq2seq.decoding.target_text import TargetWriter
from btg_seq2seq.decoding.translation import Translation
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import load_tokenizer

# A translation that is given: as text, as a result, or as token strings that read the same.
Target = str | Translation | Sequence[Sequence[int]]

CHUNK = 256  # texts that are held in memory, encoded, at a time


class SentenceLengthError(UserError):
    """A sentence, by its rank in the call, that is longer than the model can read or write."""

    def __init__(self, sentence: int, reason: str) -> None:
        super().__init__(f"sentence {sentence}: {reason}")
        self.sentence, self.reason = sentence, reason


class Translator:
    """A model, its tokenizer, and how to use them.

    ``settings`` are the defaults of every call.
    """

    def __init__(
        self,
        model: BTGSeq2Seq,
        tokenizer: PreTrainedTokenizerBase,
        settings: DecodingSettings | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.settings = settings or DecodingSettings()
        self.reader = SourceReader(tokenizer)
        self.writer = TargetWriter(tokenizer)

    @classmethod
    def from_pretrained(
        cls,
        directory: str | PathLike[str],
        settings: DecodingSettings | None = None,
        device: str | torch.device = "cpu",
        verify: bool = True,
    ) -> Translator:
        """Load what ``btg train`` wrote: a model and its tokenizer.

        ``verify=False`` saves the time of comparing the files with their checksums.
        """
        model: Any = BTGSeq2Seq.from_pretrained(directory, verify=verify)
        tokenizer = load_tokenizer(Path(directory))
        model.backbone.check_tokenizer(tokenizer, directory)
        return cls(model.to(device), tokenizer, settings)

    def translate(
        self,
        texts: Sequence[str],
        mode: Literal["flat", "cky"] | None = None,
        rules: Iterable[Rule] | RuleSet = (),
        nbest: int = 1,
        **settings: Any,
    ) -> list[Translation]:
        """Translate texts, one sentence each; an empty one has an empty translation.

        Args:
            texts: sentences; results are in the same order and do not depend on each other.
            mode: ``"flat"``: the seq2seq model alone; ``"cky"``: the grammar combines phrases.
                Unless given, cky where there are rules and flat otherwise.
            rules: what is to be obeyed; needs cky. What is wrong with a rule, or that it matched
                nothing, is a warning; of a ``RuleSet`` it can be asked for.
            nbest: translations a sentence, the best one included; at most ``beam_size``.
            settings: fields of ``DecodingSettings``, such as ``beam_size``.
        """
        chosen = replace(self.settings, **settings)
        check_nbest(nbest, chosen)
        rule_set = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        mode = mode or ("cky" if rule_set.rules else "flat")
        if mode not in ("flat", "cky"):
            raise UserError(f"mode is flat or cky, not {mode!r}")
        if mode == "flat" and rule_set.rules:
            raise UserError("flat translation cannot obey rules; use the mode cky, or no rules")
        results: list[Translation] = []
        sources = self.read(texts)
        for start in range(0, len(texts), CHUNK):
            chunk = sources[start : start + CHUNK]
            if mode == "flat":
                results += self._translate_flat(chunk, nbest, chosen)
            else:
                results += PreparedTexts(self, chunk, chosen).translate(rule_set, nbest)
        if rule_set is not rules:
            warn_about(rule_set)
        return results

    def prepare(self, texts: Sequence[str], **settings: Any) -> PreparedTexts:
        """Encode texts, to be translated again and again with different rules."""
        sources = self.read(texts)
        prepared = PreparedTexts(self, sources, replace(self.settings, **settings))
        prepared.encode([rank for rank, source in enumerate(sources) if source.tokens], sources)
        return prepared

    def score(
        self, sources: Sequence[str], targets: Sequence[Target], **settings: Any
    ) -> list[Score]:
        """How probable given translations are; rules play no part.

        A target is a text, of which the tokenizer makes one token string; or what ``translate``
        returned, or the token strings themselves, which are added up.
        """
        read = self.read(sources)
        _check_pairs(sources, targets)
        framed = [self.framed(source.tokens) for source in read]
        chosen = replace(self.settings, **settings)
        for sentence, target in enumerate(targets):
            self.check_target(target, sentence)
        strings = [self.token_strings(target) for target in targets]
        return score_strings(self.model, self.writer, read, framed, strings, chosen)

    def check_target(self, target: Target, sentence: int = 0) -> None:
        """An error where a given translation is longer than the model can score."""
        longest = max(map(len, self.token_strings(target)), default=0)
        most = Level.sentence(self.model.backbone).longest(self.model.backbone, longest)
        if longest > most:
            raise SentenceLengthError(
                sentence,
                f"its translation has {longest} tokens, but the model writes no more than {most}",
            )

    def token_strings(self, target: Target) -> list[tuple[int, ...]]:
        """The tokens of a given translation, in all ways that it has."""
        if isinstance(target, str):
            return [self.writer.encode_sentence(target)]
        strings = target.variants if isinstance(target, Translation) else target
        return [tuple(tokens) for tokens in strings]

    def align(
        self, sources: Sequence[str], targets: Sequence[str], segments: int | None = None
    ) -> list[Translation]:
        """The most probable tree of each given pair and, along it, target phrases.

        ``segments`` is the number of phrases; as many as the model allows unless given. A pair
        has no derivation where a side is empty or too long for the grammar.
        """
        _check_pairs(sources, targets)
        read, written = self.reader.read(sources), self.reader.read(targets, side="target")
        found = best_derivations(
            self.model, [one.tokens for one in read], [one.tokens for one in written], segments
        )
        return [aligned(*pair) for pair in zip(read, written, found, strict=True)]

    def read(self, texts: Sequence[str]) -> list[SourceText]:
        """Texts as tokens; an error where one is longer than the model can read."""
        if isinstance(texts, str):
            raise UserError("texts must be a list of sentences, not one string")
        sources = self.reader.read(texts)
        for sentence, source in enumerate(sources):
            if self.longest is not None and len(self.framed(source.tokens)) > self.longest:
                raise SentenceLengthError(
                    sentence,
                    f"it has {len(source.tokens)} tokens, but the model reads no more than "
                    f"{self.longest}; split it: {source.text[:40]!r}...",
                )
        return sources

    @property
    def longest(self) -> int | None:
        """Most tokens that the model can read, with those that frame them; nothing for any."""
        backbone = self.model.backbone
        return backbone.family.longest(backbone.model.config)

    def framed(self, tokens: Sequence[int]) -> list[int]:
        """Tokens of a source with those that the model expects around them."""
        config = self.model.config
        return [*config.prefix, *tokens, *config.suffix]

    def _translate_flat(
        self, sources: Sequence[SourceText], nbest: int, settings: DecodingSettings
    ) -> list[Translation]:
        rows = [rank for rank, source in enumerate(sources) if source.tokens]
        framed = [self.framed(sources[rank].tokens) for rank in rows]
        # All that the beam holds: token strings that read the same are added up.
        found = decode_flat(self.model, framed, settings, settings.beam_size) if rows else []
        hypotheses = dict(zip(rows, found, strict=True))
        return [
            to_translation(
                self.writer,
                Assignment(source),
                hypotheses.get(rank, []),
                nbest,
                mode="flat",
                are_probabilities=not settings.length_normalised,
            )
            for rank, source in enumerate(sources)
        ]


class PreparedTexts:
    """Texts with their encoder states and phrase candidates, to be translated with any rules.

    What one call has decoded, the next one uses again: a sentence is encoded anew only if a rule
    that is forced or kept ends inside of one of its tokens.
    """

    def __init__(
        self, translator: Translator, sources: Sequence[SourceText], settings: DecodingSettings
    ) -> None:
        self.translator, self.sources, self.settings = translator, sources, settings
        self._groups: list[Prepared] = []
        # Where the tokens of a sentence were prepared: group and row.
        self._places: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}

    def translate(self, rules: Iterable[Rule] | RuleSet = (), nbest: int = 1) -> list[Translation]:
        """Translate by the grammar with these rules; see ``Translator.translate``."""
        check_nbest(nbest, self.settings)
        rule_set = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        assignments = self._assign(rule_set)
        results = self._decode(assignments)
        translations = [
            to_translation(
                self.translator.writer,
                _with_ignored(assignment, result),
                result.hypotheses,
                nbest,
                mode="cky",
                fallback=result.fallback,
                are_probabilities=not self.settings.length_normalised,
            )
            for assignment, result in zip(assignments, results, strict=True)
        ]
        if rule_set is not rules:
            warn_about(rule_set)
        return translations

    def score(self, targets: Sequence[Target], rules: Iterable[Rule] | RuleSet = ()) -> list[float]:
        """The log-probability with which ``translate`` reports each target under these rules.

        Minus infinity where the beams have lost it. See ``Translator.score`` for targets, and for
        probabilities that are exact.
        """
        rule_set = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        assignments = self._assign(rule_set)
        results = self._decode(assignments)
        scores = []
        for assignment, result, target in zip(assignments, results, targets, strict=True):
            strings = {*self.translator.token_strings(target)}
            text = target.text if isinstance(target, Translation) else None
            found = [
                own.log_prob
                for own in result.hypotheses
                if self._is_one_of(assignment, own, strings, text)
            ]
            is_empty = not assignment.source.tokens and not any(strings)
            # Scores that are no probabilities are not added, as in ``to_translation``.
            total = (
                max(found, default=-math.inf) if self.settings.length_normalised else log_sum(found)
            )
            scores.append(0.0 if is_empty else total)
        return scores

    def _is_one_of(
        self,
        assignment: Assignment,
        hypothesis: Hypothesis,
        strings: Collection[tuple[int, ...]],
        text: str | None,
    ) -> bool:
        """Whether a hypothesis has one of the token strings, and reads as the text, if there is."""
        written = Written.of(self.translator.writer, assignment, hypothesis)
        return written.tokens in strings and text in (None, written.text)

    def _assign(self, rules: RuleSet) -> list[Assignment]:
        """Find the rules in all texts."""
        translator = self.translator
        frame = len(translator.framed([]))
        longest = None if translator.longest is None else translator.longest - frame
        assigner = Assigner(translator.reader, translator.writer, rules, longest)
        return [assigner.assign(source) for source in self.sources]

    def encode(self, ranks: Iterable[int], sources: Sequence[SourceText]) -> None:
        """Encode those of the sentences that are new, or have other tokens than before."""
        new = [rank for rank in ranks if (rank, sources[rank].tokens) not in self._places]
        if new:
            framed = [self.translator.framed(sources[rank].tokens) for rank in new]
            group = len(self._groups)
            self._groups.append(prepare(self.translator.model, framed, self.settings))
            for row, rank in enumerate(new):
                self._places[rank, sources[rank].tokens] = group, row

    def _decode(self, assignments: Sequence[Assignment]) -> list[CkyResult]:
        """The strings of each sentence under its rules."""
        results = [CkyResult([]) for _ in assignments]
        ranks = [rank for rank, assignment in enumerate(assignments) if assignment.source.tokens]
        self.encode(ranks, [assignment.source for assignment in assignments])
        places = {rank: self._places[rank, assignments[rank].source.tokens] for rank in ranks}
        for group, prepared in enumerate(self._groups):
            rows = {row: rank for rank, (own_group, row) in places.items() if own_group == group}
            if rows:
                spans = [assignments[rank].spans for rank in rows.values()]
                # All that the chart has: token strings that read the same are added up.
                found = prepared.decode(spans, None, list(rows))
                for rank, result in zip(rows.values(), found, strict=True):
                    results[rank] = result
        return results


def _with_ignored(assignment: Assignment, result: CkyResult) -> Assignment:
    """The assignment with a notice for each rule that the decoder passed over."""
    reason = "the sentence is too long for cky, and its source is none of the pieces"
    if result.fallback is None:
        reason = (
            "max_segments, max_phrase_length, flat_weight and the rules that are forced leave no "
            "tree in which its source is a phrase"
        )
    notices = [
        f"rule {assignment.matches[rank].rule} does not compete: {reason}"
        for rank in result.ignored
    ]
    return replace(assignment, notices=[*assignment.notices, *notices])


def _check_pairs(sources: Sequence[str], targets: Sequence[Target]) -> None:
    if isinstance(sources, str) or isinstance(targets, str):
        raise UserError("sources and targets must be lists of sentences, not one string")
    if len(sources) != len(targets):
        raise UserError(f"{len(sources)} sources, but {len(targets)} targets")


def check_nbest(nbest: int, settings: DecodingSettings) -> None:
    """A beam holds no more than so many translations."""
    if not 1 <= nbest <= settings.beam_size:
        raise UserError(
            f"nbest={nbest} must lie between 1 and beam_size={settings.beam_size}; "
            "widen the beam for more translations"
        )


def warn_about(rules: RuleSet) -> None:
    """Say what is wrong with rules, and which of them matched nothing."""
    for problem in rules.problems:
        warnings.warn(problem, stacklevel=3)
    unmatched = rules.unmatched
    if unmatched:
        several = f", and {len(unmatched) - 1:,} more" if len(unmatched) > 1 else ""
        warnings.warn(f"rule {unmatched[0]} matched nothing{several}", stacklevel=3)
