"""Texts prepared once and translated by the grammar with any rules."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from btg_seq2seq.decoding.chart.cky import PreparedSentences, prepare
from btg_seq2seq.decoding.hypotheses import CkyResult, Hypothesis
from btg_seq2seq.decoding.ranking import Ranking
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar.packing import split_count
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.translation.inputs import Target, check_pairs
from btg_seq2seq.translation.ranking.rescoring import Candidate, rescored
from btg_seq2seq.translation.rules.apply import RuleApplier, RuledText
from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.translation.text_hypotheses import TextHypothesis, log_sum, to_translation
from btg_seq2seq.translation.tokenized_text import TokenizedText
from btg_seq2seq.translation.translation import RankedBy, Translation

if TYPE_CHECKING:  # it makes these
    from btg_seq2seq.translation.translator import Translator


# Most texts encoded in memory at a time; most tokens of them, and splits in their charts.
CHUNK, CHUNK_TOKENS, CHUNK_SPLITS = 256, 2**15, 2**23


def chunks(
    sources: Sequence[TokenizedText], settings: DecodingSettings
) -> Iterator[Sequence[TokenizedText]]:
    """Yield sources in order, in chunks that fit into memory."""
    first, tokens, splits = 0, 0, 0
    for rank, source in enumerate(sources):
        length = len(source.tokens)
        own = split_count(source.units) if source.units <= settings.max_cky_length else 0
        tokens, splits = tokens + length, splits + own
        is_full = rank - first == CHUNK or tokens > CHUNK_TOKENS or splits > CHUNK_SPLITS
        if is_full and rank > first:
            yield sources[first:rank]
            first, tokens, splits = rank, length, own
    if sources:
        yield sources[first:]


class PreparedTexts:
    """Texts with their encoder states and phrase candidates, to be translated with any rules.

    Everything that one call decodes is reused by the next. A sentence is encoded again only if a
    rule ends inside of one of its units.
    """

    def __init__(
        self, translator: Translator, sources: Sequence[TokenizedText], settings: DecodingSettings
    ) -> None:
        self.translator, self.sources, self.settings = translator, sources, settings
        self._groups: list[PreparedSentences] = []
        # Group and row of each sentence, by its rank, tokens and units.
        self._places: dict[tuple[int, TokenizedText], tuple[int, int]] = {}

    def translate(
        self,
        rules: Iterable[Rule] | RuleSet = (),
        nbest: int = 1,
        mode: Literal["cky", "rescored"] = "cky",
    ) -> list[Translation]:
        """Translate by the grammar with these rules; see ``Translator.translate``."""
        rule_set = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        ranks = range(len(self.sources))
        translations = self.translate_some(ranks, [rule_set] * len(ranks), nbest, mode)
        if rule_set is not rules:
            warn_about(rule_set)
        return translations

    def translate_some(
        self,
        ranks: Sequence[int],
        rules: Sequence[RuleSet],
        nbest: int = 1,
        mode: Literal["cky", "rescored"] = "cky",
    ) -> list[Translation]:
        """Translate some of the texts, none of them twice, each with its own rules."""
        check_nbest(nbest, self.settings)
        ruled_texts = self._apply(rules, ranks)
        decoded = self._decode(dict(zip(ranks, ruled_texts, strict=True)))
        results = [decoded[rank] for rank in ranks]
        ranked_by = ranking_of(self.settings)
        if mode == "rescored":
            ranked_by = "score per token" if self.settings.length_normalised else "score"
            results = self._rescored(ruled_texts, results)
        return [
            to_translation(
                self.translator.writer,
                _with_ignored(ruled, result),
                result.hypotheses,
                nbest,
                mode=mode,
                fallback=result.fallback,
                ranked_by=ranked_by,
                minimum_risk=self.settings.minimum_risk,
            )
            for ruled, result in zip(ruled_texts, results, strict=True)
        ]

    @property
    def encoded(self) -> list[TokenizedText]:
        """All that was encoded so far: a text more than once, if rules have cut its units."""
        return [source for _, source in self._places]

    def score(self, targets: Sequence[Target], rules: Iterable[Rule] | RuleSet = ()) -> list[float]:
        """Compute the log-probability with which ``translate`` reports each target.

        It is minus infinity if the beams have lost the target. See ``Translator.score`` for the
        kinds of targets, and for exact probabilities.
        """
        rule_set = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        check_pairs([source.text for source in self.sources], targets)
        for sentence, target in enumerate(targets):
            self.translator.check_target(target, sentence, self.settings)
        ranks = range(len(self.sources))
        ruled_texts = self._apply([rule_set] * len(ranks), ranks)
        decoded = self._decode(dict(zip(ranks, ruled_texts, strict=True)))
        results = [decoded[rank] for rank in ranks]
        scores = []
        for ruled, result, target in zip(ruled_texts, results, targets, strict=True):
            strings = {*self.translator.token_strings(target)}
            text = target.text if isinstance(target, Translation) else None
            found = [
                own.log_prob
                for own in result.hypotheses
                if self._is_one_of(ruled, own, strings, text)
            ]
            is_empty = not ruled.source.tokens and not any(strings)
            scores.append(0.0 if is_empty else log_sum(found))
        return scores

    def _rescored(
        self, ruled_texts: Sequence[RuledText], results: Sequence[CkyResult]
    ) -> list[CkyResult]:
        """Rank the strings of each sentence by features of whole sentences."""
        rows = [row for row, result in enumerate(results) if result.hypotheses]
        sources = [ruled_texts[row].source for row in rows]
        candidates = [self._candidates(ruled_texts[row], results[row]) for row in rows]
        phrases = self.translator.phrases(sources, self.settings)
        ranking = Ranking(self.settings.rescoring, self.settings.length_normalised)
        ranked = rescored(phrases, candidates, ranking)
        found = list(results)
        for row, hypotheses in zip(rows, ranked, strict=True):
            found[row] = replace(results[row], hypotheses=hypotheses)
        return found

    def _candidates(self, ruled: RuledText, result: CkyResult) -> list[Candidate]:
        """The strings of a sentence, with the targets of rules as tokens of the model."""
        return [
            Candidate(
                own,
                tuple(
                    token
                    for phrase in own.phrases
                    for token in ruled.read(phrase.rule, phrase.tokens)[0]
                ),
            )
            for own in result.hypotheses
        ]

    def _is_one_of(
        self,
        ruled: RuledText,
        hypothesis: Hypothesis,
        strings: Collection[tuple[int, ...]],
        text: str | None,
    ) -> bool:
        """Compare a hypothesis with token strings and, if given, a text."""
        written = TextHypothesis.of(self.translator.writer, ruled, hypothesis)
        return written.tokens in strings and text in (None, written.text)

    def _apply(self, rules: Sequence[RuleSet], ranks: Sequence[int]) -> list[RuledText]:
        """Apply to each text its rules."""
        translator = self.translator
        frame = len(translator.framed([]))
        longest = None if translator.longest is None else translator.longest - frame
        appliers = {
            id(own): RuleApplier(translator.reader, translator.writer, own, longest)
            for own in rules
        }
        return [
            appliers[id(own)].apply(self.sources[rank])
            for rank, own in zip(ranks, rules, strict=True)
        ]

    def encode(self, sources: Mapping[int, TokenizedText]) -> None:
        """Encode the sentences, by rank, that are new, or whose tokens have changed."""
        new = {
            rank: source
            for rank, source in sources.items()
            if source.tokens and (rank, source) not in self._places
        }
        if new:
            phrases = self.translator.phrases([*new.values()], self.settings)
            group = len(self._groups)
            self._groups.append(prepare(phrases, phrases.grammar, self.settings))
            for row, place in enumerate(new.items()):
                self._places[place] = group, row

    def _decode(self, ruled_texts: Mapping[int, RuledText]) -> dict[int, CkyResult]:
        """Find the translations of each sentence, by its rank, under its rules."""
        results = {rank: CkyResult([]) for rank in ruled_texts}
        self.encode({rank: ruled.source for rank, ruled in ruled_texts.items()})
        # Ranks by row, for each group.
        places: dict[int, dict[int, int]] = {}
        for rank, ruled in ruled_texts.items():
            if ruled.source.tokens:
                group, row = self._places[rank, ruled.source]
                places.setdefault(group, {})[row] = rank
        for group, rows in places.items():
            spans = [ruled_texts[rank].spans for rank in rows.values()]
            # All strings of the chart, since those that read the same are added up.
            found = self._groups[group].decode(spans, None, list(rows))
            results |= zip(rows.values(), found, strict=True)
        return results


def _with_ignored(ruled: RuledText, result: CkyResult) -> RuledText:
    """Add a notice for each rule that could not compete."""
    reason = "the sentence is too long for cky, and its source is none of the pieces"
    if result.fallback is None:
        reason = (
            "max_segments, max_phrase_length, flat_weight and the rules that are forced leave no "
            "tree in which its source is a phrase"
        )
    notices = [
        f"rule {ruled.matches[rank].rule} does not compete: {reason}" for rank in result.ignored
    ]
    return replace(ruled, notices=[*ruled.notices, *notices])


def ranking_of(settings: DecodingSettings) -> RankedBy:
    """Name the number by which flat and cky rank."""
    if settings.length_normalised:
        return "probability per token" if settings.weights.are_default else "score per token"
    return "probability" if settings.weights.are_default else "score"


def check_nbest(nbest: int, settings: DecodingSettings) -> None:
    """Refuse more translations than the beam holds."""
    if not 1 <= nbest <= settings.beam_size:
        raise UserError(
            f"nbest={nbest} must lie between 1 and beam_size={settings.beam_size}; "
            "widen the beam for more translations"
        )


def warn_about(rules: RuleSet) -> None:
    """Warn of problems with rules, and of rules that matched nothing."""
    for problem in rules.problems:
        warnings.warn(problem, stacklevel=3)
    unmatched = rules.unmatched
    if unmatched:
        several = f", and {len(unmatched) - 1:,} more" if len(unmatched) > 1 else ""
        warnings.warn(f"rule {unmatched[0]} matched nothing{several}", stacklevel=3)
