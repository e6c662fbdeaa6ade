"""Cky decoding (BTG-N): the grammar combines phrase translations.

``prepare`` encodes sentences, translates them as wholes and scores their splits; ``decode`` then
fills a chart, as often as wanted and with other rules each time: what was translated once is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from btg_seq2seq.decoding.chart.candidates import Candidates, Place
from btg_seq2seq.decoding.chart.charts import Chart, Floats, StringPool, run_charts
from btg_seq2seq.decoding.chart.plan import Plan, plan_sentences, prior_scores
from btg_seq2seq.decoding.constraints import RuleSpan, by_span, check_spans, forced
from btg_seq2seq.decoding.encoding import Source, check_sources
from btg_seq2seq.decoding.hypotheses import CkyResult, hypothesis
from btg_seq2seq.decoding.long_sentences import cut_around, in_source_order
from btg_seq2seq.grammar import Span
from btg_seq2seq.grammar import spans as all_spans
from btg_seq2seq.grammar.packing import span_count, span_index
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.modes import evaluating
from btg_seq2seq.model.transducer import BTGSeq2Seq

Rules = Mapping[Span, list[RuleSpan]]  # of a sentence, by the span that they are for


def prepare(
    model: BTGSeq2Seq, sources: Sequence[Sequence[int]], settings: DecodingSettings | None = None
) -> Prepared:
    """Encode sentences and translate them as wholes.

    ``sources`` are token ids with the frame that the tokenizer gives them. Those that are too long
    for a chart wait until ``decode`` knows whether rules cut them.
    """
    settings = settings or model.decoding
    check_sources(model, sources)
    candidates = Candidates(model, [Source.of(model, tokens) for tokens in sources], settings)
    own = candidates.sources
    short = [row for row, source in enumerate(own) if source.length <= settings.max_cky_length]
    scores: dict[int, Floats] = {}
    for rows in candidates.batches(short):
        candidates.translate_whole(rows)
        with evaluating(model):
            scores.update(zip(rows, prior_scores(model, [own[row] for row in rows]), strict=True))
    return Prepared(candidates, scores)


class Prepared:
    """Sentences that are encoded, their flat translations, and phrases translated so far."""

    def __init__(self, candidates: Candidates, scores: dict[int, Floats]) -> None:
        self.candidates, self.sources = candidates, candidates.sources
        self.model, self.settings = candidates.model, candidates.settings
        self._scores = scores  # of the sentences that are short enough for a chart
        self._plain: dict[int, Plan] = {}  # without rules

    def decode(
        self,
        spans: Sequence[Sequence[RuleSpan]] | None = None,
        nbest: int | None = 1,
        rows: Sequence[int] | None = None,
    ) -> list[CkyResult]:
        """The best strings, or all, of each sentence under the rules given for it.

        A string's probability is summed over its derivations in the chart. With forced spans it
        is given that the tree obeys. ``rows``: the sentences that are wanted, unless all are.
        """
        rows = range(len(self.sources)) if rows is None else rows
        spans = [()] * len(rows) if spans is None else spans
        if len(spans) != len(rows):
            raise ValueError(f"rules for {len(spans)} sentences, but there are {len(rows)}")
        for sentence, own in zip(rows, spans, strict=True):
            check_spans(sentence, self.sources[sentence].length, own)
        plans = self.plans(spans, rows)
        rules = {sentence: by_span(own) for sentence, own in zip(rows, spans, strict=True)}
        self.candidates.fill(
            place
            for sentence, plan in plans.items()
            for place in self._places(sentence, plan)
            if not forced(_at(place, rules))
        )
        self.candidates.score_targets(
            ((sentence, rule.start, rule.stop), list(rule.choices.values()))
            for sentence, own in zip(rows, spans, strict=True)
            for rule in forced(own)
        )
        extra = StringPool()
        charts = [self._chart(sentence, plan, rules, extra) for sentence, plan in plans.items()]
        pool = self.candidates.pool.joined(extra)
        found = run_charts(charts, pool, self.settings.beam_size, nbest)
        results = {}
        for (sentence, plan), strings in zip(plans.items(), found, strict=True):
            hypotheses = [
                hypothesis(
                    string.log_mass,
                    [pool.phrase(*leaf) for leaf in string.leaves],
                    string.log_best,
                    string.posterior,
                )
                for string in strings
            ]
            results[sentence] = CkyResult(hypotheses, ignored=plan.ignored)
        for sentence, own in zip(rows, spans, strict=True):
            if sentence not in results:
                results[sentence] = self._without_chart(sentence, own, rules, nbest)
        return [results[sentence] for sentence in rows]

    def plans(
        self, rules: Sequence[Sequence[RuleSpan]], rows: Sequence[int] | None = None
    ) -> dict[int, Plan]:
        """What the chart of each sentence holds, but for those that are too long for one."""
        rows = range(len(self.sources)) if rows is None else rows
        own = {row: given for row, given in zip(rows, rules, strict=True) if row in self._scores}
        new = [row for row, given in own.items() if given or row not in self._plain]
        found = plan_sentences(
            self.model,
            [self.sources[row].length for row in new],
            [self._scores[row] for row in new],
            [own[row] for row in new],
            self.settings,
        )
        made = dict(zip(new, found, strict=True))
        self._plain |= {row: plan for row, plan in made.items() if not own[row]}
        return {row: made[row] if row in made else self._plain[row] for row in own}

    def _places(self, sentence: int, plan: Plan) -> Iterator[Place]:
        """The phrases that a plan keeps."""
        for start, stop in all_spans(self.sources[sentence].length)[plan.kept].tolist():
            yield sentence, start, stop

    def _chart(
        self, sentence: int, plan: Plan, rules: Mapping[int, Rules], extra: StringPool
    ) -> Chart:
        length = self.sources[sentence].length
        begins, counts = np.zeros((2, span_count(length)), np.int64)
        for place in (*self._places(sentence, plan), (sentence, 0, length)):
            _, start, stop = place
            own, index = _at(place, rules), span_index(start, stop)
            begins[index], counts[index] = self.candidates.with_rules(place, own, extra)
        log_counts = plan.log_counts - plan.log_partitions
        return Chart(length, plan.segments, self._scores[sentence], begins, counts, log_counts)

    def _without_chart(
        self,
        sentence: int,
        spans: Sequence[RuleSpan],
        rules: Mapping[int, Rules],
        nbest: int | None,
    ) -> CkyResult:
        """Flat, or, where rules must be obeyed, phrases in source order."""
        length, limit = self.sources[sentence].length, self.settings.max_cky_length
        reason = f"{length} tokens, more than max_cky_length = {limit}"
        longest = self.settings.max_phrase_length or self.model.config.max_phrase_length or length
        pieces = cut_around(length, min(longest, max(1, limit)), forced(spans))
        note = "cut at the rules, phrases in source order"
        if not forced(spans):
            pieces, note = [(0, length)], "translated flat"
            for rows in self.candidates.batches([sentence]):
                self.candidates.translate_whole(rows)
        places = [(sentence, start, stop) for start, stop in pieces]
        self.candidates.fill(
            place for place in places if not forced(_at(place, rules)) and place[1:] != (0, length)
        )
        extra = StringPool()
        strings = [self.candidates.with_rules(place, _at(place, rules), extra) for place in places]
        pool = self.candidates.pool.joined(extra)
        choices = [
            [pool.phrase(start, stop, string) for string in range(begin, begin + count)]
            for (_, start, stop), (begin, count) in zip(places, strings, strict=True)
        ]
        hypotheses = in_source_order(choices, max(self.settings.beam_size, nbest or 1))[:nbest]
        cut = {*pieces}
        ignored = [rule.rule for rule in spans if (rule.start, rule.stop) not in cut]
        return CkyResult(hypotheses, f"{reason}: {note}", ignored)


def _at(place: Place, rules: Mapping[int, Rules]) -> list[RuleSpan]:
    """The rules for exactly this span."""
    return rules[place[0]].get(place[1:], [])
