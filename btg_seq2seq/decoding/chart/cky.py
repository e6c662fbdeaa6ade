"""Cky decoding (BTG-N): the grammar combines phrase translations.

``prepare`` translates whole sentences and scores their splits. ``decode`` then fills charts; it can
be called again with other rules, and translates only phrases that are new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from btg_seq2seq.decoding.chart.candidates import Candidates
from btg_seq2seq.decoding.chart.charts import Chart, ChartString, StringPool, run_charts
from btg_seq2seq.decoding.chart.plan import Plan, plan_sentences
from btg_seq2seq.decoding.constraints import RuleSpan, by_span, check_spans, forced
from btg_seq2seq.decoding.features import GRAMMAR
from btg_seq2seq.decoding.hypotheses import CkyResult, Hypothesis
from btg_seq2seq.decoding.long_sentences import cut_around, in_source_order
from btg_seq2seq.decoding.phrase_translator import Floats, PhraseTranslator, SentenceSpan
from btg_seq2seq.decoding.ranking import Ranking
from btg_seq2seq.decoding.source_grammar import SourceGrammar
from btg_seq2seq.grammar import Span
from btg_seq2seq.grammar import spans as all_spans
from btg_seq2seq.grammar.packing import span_count, span_index
from btg_seq2seq.model.decoding_settings import CompleteSettings, DecodingSettings
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights

RulesBySpan = Mapping[Span, list[RuleSpan]]  # of one sentence


def prepare(
    phrases: PhraseTranslator,
    grammar: SourceGrammar,
    settings: DecodingSettings | None = None,
    features: Collection[str] | None = None,
) -> PreparedSentences:
    """Translate the sentences of a phrase translator as wholes, and score their splits.

    Sentences that are too long for a chart wait until ``decode`` knows whether rules cut them.
    ``features`` are those that strings get, for settings with other weights later; by default those
    that the weights of the settings use.
    """
    complete = (settings or DecodingSettings()).completed_by(grammar)
    lengths = phrases.lengths
    short = [row for row, length in enumerate(lengths) if length <= complete.max_cky_length]
    if features is None and not complete.ranks_by_probability:
        features = complete.weights.used
    candidates = Candidates(phrases, features)
    candidates.translate_sentences(short)
    scores = dict(zip(short, grammar.split_scores(short), strict=True))
    return PreparedSentences(candidates, scores, complete)


class PreparedSentences:
    """Sentences with their split scores, and everything that was translated so far."""

    def __init__(
        self, candidates: Candidates, scores: dict[int, Floats], settings: CompleteSettings
    ) -> None:
        self.candidates, self.settings = candidates, settings
        self.ranking = Ranking.of(settings)
        self.lengths = candidates.phrases.lengths
        self._scores = scores  # of the sentences that are short enough for a chart
        self._plain: dict[int, Plan] = {}  # plans without rules

    def with_settings(self, settings: CompleteSettings) -> PreparedSentences:
        """Return the same sentences under other settings, with everything translated so far.

        Settings of the search for phrases, such as ``beam_size``, must be the same; weights may
        only use features that the sentences were prepared with.
        """
        return PreparedSentences(self.candidates, self._scores, settings)

    def decode(
        self,
        spans: Sequence[Sequence[RuleSpan]] | None = None,
        nbest: int | None = 1,
        rows: Sequence[int] | None = None,
    ) -> list[CkyResult]:
        """Find the best strings of each sentence under the rules given for it.

        The probability of a string is summed over its derivations in the chart. With forced spans
        it is conditional on trees that obey them.

        Args:
            spans: the rules of each sentence.
            nbest: number of strings per sentence; ``None`` for all that the chart has.
            rows: ranks of the sentences to decode; all by default.
        """
        rows = range(len(self.lengths)) if rows is None else rows
        spans = [()] * len(rows) if spans is None else spans
        if len(spans) != len(rows):
            raise ValueError(f"rules for {len(spans)} sentences, but there are {len(rows)}")
        for sentence, given in zip(rows, spans, strict=True):
            check_spans(sentence, self.lengths[sentence], given)
        plans = self.plans(spans, rows)
        rules = {sentence: by_span(given) for sentence, given in zip(rows, spans, strict=True)}
        self.candidates.translate_phrases(
            span
            for sentence, plan in plans.items()
            for span in self._kept(sentence, plan)
            if not forced(_rules_for(span, rules))
        )
        self.candidates.score_targets(
            ((sentence, rule.start, rule.stop), list(rule.choices.values()))
            for sentence, given in zip(rows, spans, strict=True)
            for rule in forced(given)
        )
        extra = self.candidates.new_pool()
        charts = [self._chart(sentence, plan, rules, extra) for sentence, plan in plans.items()]
        pool = self.candidates.pool.joined(extra)
        found = self._run(charts, pool, nbest)
        results = {}
        for (sentence, plan), strings in zip(plans.items(), found, strict=True):
            hypotheses = [
                Hypothesis.from_phrases(
                    [pool.phrase(*leaf) for leaf in string.leaves],
                    string.log_prob,
                    string.log_best,
                    string.posterior,
                    None if self.ranking is None else string.log_mass,
                    self._features(string, pool),
                )
                for string in strings
            ]
            results[sentence] = CkyResult(hypotheses, ignored=plan.ignored)
        for sentence, given in zip(rows, spans, strict=True):
            if sentence not in results:
                results[sentence] = self._without_chart(sentence, given, rules, nbest)
        return [results[sentence] for sentence in rows]

    def _features(self, string: ChartString, pool: StringPool) -> tuple[float, ...] | None:
        """Features of the best derivation, with the log-probability of its tree.

        Weighted, they add up to its score, so those of a phrase are per token if scores are.
        """
        if self.candidates.features is None:
            return None
        rows = [leaf for _, _, leaf in string.leaves]
        ranking = self.ranking or Ranking(RankingWeights())
        leaves, lengths = pool.all.features[rows], pool.all.lengths[rows]
        rest = string.log_best - ranking.scores(leaves, lengths).sum()
        if ranking.length_normalised:
            leaves = leaves / (lengths[:, None] + 1)
        total = leaves.sum(0)
        total[GRAMMAR] = rest / ranking.weights.grammar if ranking.weights.grammar else 0.0
        return tuple(total.tolist())

    def _run(
        self, charts: Sequence[Chart], pool: StringPool, nbest: int | None
    ) -> list[list[ChartString]]:
        """Find the strings of each chart.

        Phrases meet between words. A sentence for which rules and beams leave no such string is the
        exception: any string is better than none.
        """
        beam_size, unit_table = self.settings.beam_size, self.candidates.phrases.unit_table
        found = run_charts(charts, pool, beam_size, nbest, unit_table, self.ranking)
        empty = [row for row, strings in enumerate(found) if not strings]
        if unit_table is not None and empty:
            chosen = [charts[row] for row in empty]
            others = run_charts(chosen, pool, beam_size, nbest, ranking=self.ranking)
            for row, strings in zip(empty, others, strict=True):
                found[row] = strings
        return found

    def plans(
        self,
        rules: Sequence[Sequence[RuleSpan]] | None = None,
        rows: Sequence[int] | None = None,
    ) -> dict[int, Plan]:
        """Plan the chart of each sentence, except for those that are too long for one."""
        rows = range(len(self.lengths)) if rows is None else rows
        rules = [()] * len(rows) if rules is None else rules
        short = {row: given for row, given in zip(rows, rules, strict=True) if row in self._scores}
        new = [row for row, given in short.items() if given or row not in self._plain]
        found = plan_sentences(
            [self.lengths[row] for row in new],
            [self._scores[row] for row in new],
            [short[row] for row in new],
            self.settings,
        )
        made = dict(zip(new, found, strict=True))
        self._plain |= {row: plan for row, plan in made.items() if not short[row]}
        return {row: made[row] if row in made else self._plain[row] for row in short}

    def _kept(self, sentence: int, plan: Plan) -> Iterator[SentenceSpan]:
        """The phrases that a plan keeps."""
        for start, stop in all_spans(self.lengths[sentence])[plan.kept].tolist():
            yield sentence, start, stop

    def _chart(
        self, sentence: int, plan: Plan, rules: Mapping[int, RulesBySpan], extra: StringPool
    ) -> Chart:
        length = self.lengths[sentence]
        begins, counts = np.zeros((2, span_count(length)), np.int64)
        for span in (*self._kept(sentence, plan), (sentence, 0, length)):
            _, start, stop = span
            strings = self.candidates.with_rules(span, _rules_for(span, rules), extra)
            begins[span_index(start, stop)], counts[span_index(start, stop)] = strings
        log_counts = plan.log_counts - plan.log_partitions
        return Chart(length, plan.segments, self._scores[sentence], begins, counts, log_counts)

    def _without_chart(
        self,
        sentence: int,
        spans: Sequence[RuleSpan],
        rules: Mapping[int, RulesBySpan],
        nbest: int | None,
    ) -> CkyResult:
        """Translate flat or, where rules must be obeyed, phrase by phrase in source order."""
        length, limit = self.lengths[sentence], self.settings.max_cky_length
        reason = f"{length} words, more than max_cky_length = {limit}"
        longest = self.settings.max_phrase_length or length
        pieces = cut_around(length, min(longest, max(1, limit)), forced(spans))
        note = "cut at the rules, phrases in source order"
        if not forced(spans):
            pieces, note = [(0, length)], "translated flat"
            self.candidates.translate_sentences([sentence])
        places = [(sentence, start, stop) for start, stop in pieces]
        self.candidates.translate_phrases(
            place
            for place in places
            if not forced(_rules_for(place, rules)) and place[1:] != (0, length)
        )
        extra = self.candidates.new_pool()
        strings = [
            self.candidates.with_rules(place, _rules_for(place, rules), extra) for place in places
        ]
        pool = self.candidates.pool.joined(extra)
        choices = [
            [pool.phrase(start, stop, string) for string in range(begin, begin + count)]
            for (_, start, stop), (begin, count) in zip(places, strings, strict=True)
        ]
        scores = None
        if self.ranking is not None:
            every = self.ranking.scores(pool.all.features, pool.all.lengths)
            scores = [every[begin : begin + count].tolist() for begin, count in strings]
        beam_size = max(self.settings.beam_size, nbest or 1)
        unit_table = self.candidates.phrases.unit_table
        hypotheses = in_source_order(choices, beam_size, unit_table, scores)[:nbest]
        cut = {*pieces}
        ignored = [rule.rule for rule in spans if (rule.start, rule.stop) not in cut]
        return CkyResult(hypotheses, f"{reason}: {note}", ignored)


def _rules_for(span: SentenceSpan, rules: Mapping[int, RulesBySpan]) -> list[RuleSpan]:
    """The rules for exactly this span."""
    return rules[span[0]].get(span[1:], [])
