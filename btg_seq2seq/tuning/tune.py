"""Decoding settings chosen on a dev set: weights of features, and probabilities of cuts.

For each mode, candidates come from n-best lists with features, and a search finds the weights under
which the best of them score highest. Charts are then filled again with these weights, which finds
other candidates, and so on. Settings of the chart are tried one at a time. What is chosen is never
worse on the dev set than what was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from btg_seq2seq.checks import one_of
from btg_seq2seq.derivations.lexical.teacher import Track, untracked
from btg_seq2seq.evaluation.metrics import MetricOptions
from btg_seq2seq.evaluation.sentence_statistics import SentenceStatistics
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, RankingWeights
from btg_seq2seq.model.tuned.tuned_settings import TUNED_MODES, TunedSettings
from btg_seq2seq.translation.inputs import check_pairs
from btg_seq2seq.translation.translator import TranslationMode, Translator
from btg_seq2seq.tuning.nbest_lists import NBestLists, Objective
from btg_seq2seq.tuning.trials import Trials, available_features
from btg_seq2seq.tuning.weight_search import search_weights

FLAT_WEIGHTS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.95)
SEGMENT_RATES = (0.1, 0.25, 0.5, 0.75, 0.9)
MOST_SEGMENTS = 8
WEIGHT_ROUNDS = 2  # of weights, each with new candidates of the charts
CYCLES = 2  # of weights, then settings of the chart
# Fields that are saved for each mode, even where they are the defaults.
CHART = {"weights", "length_normalised", "flat_weight", "segment_rate", "max_segments"}
TUNED = {"flat": {"weights", "length_normalised"}, "cky": CHART, "rescored": {*CHART, "rescoring"}}

Search = Generator[None, None, DecodingSettings]


@dataclass(frozen=True)
class TunedMode:
    """The settings chosen for a mode, and the dev score before and after."""

    mode: str
    settings: dict[str, Any]  # fields of DecodingSettings
    metric: str
    before: float
    after: float
    sentences: int


@dataclass(frozen=True)
class TuneResult:
    """The outcome of tuning: one entry for each mode, and all as settings of the model."""

    modes: list[TunedMode]
    tuned: TunedSettings


def tune(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    *,
    modes: Sequence[TranslationMode] | None = None,
    metric: str = "bleu",
    options: MetricOptions = MetricOptions(),  # noqa: B008  it is frozen
    seed: int = 0,
    track: Track = untracked,
    keep: Callable[[TuneResult], None] = lambda result: None,
    **settings: Any,
) -> TuneResult:
    """Choose decoding settings on a dev set, and use them in ``translator``.

    Args:
        translator: a model; ``translator.tables`` decides whether there are lexical features.
        sources, references: the dev set.
        modes: ``"flat"``, ``"cky"`` and ``"rescored"``; all that the model has learned by default.
        metric: ``"bleu"``, ``"chrf"`` or ``"exact_match"``.
        options: options of the metric.
        seed: of the search; the same seed gives the same settings.
        track: iterates over parts of the work and shows the progress.
        keep: called after each mode with what has been found so far.
        settings: fields of ``DecodingSettings`` that are given, such as ``beam_size``.
    """
    check_pairs(sources, references)
    statistics = SentenceStatistics(metric, references, options)
    learned = TUNED_MODES if translator.model.config.parsers_learned else ("flat",)
    wanted: Sequence[str] = learned if modes is None else modes
    for name in wanted:
        one_of("the mode", name, TUNED_MODES)
    result = TuneResult([], translator.tuned)
    for mode in TUNED_MODES:
        if mode not in wanted:
            continue
        own = _Tuner(translator, sources, statistics, mode, seed, settings)
        steps = own.steps()
        for _ in track(range(own.size), f"tuning {mode}"):
            next(steps, None)
        next(steps, None)  # the result
        found = own.result
        report = {
            "metric": metric,
            "before": found.before,
            "after": found.after,
            "sentences": found.sentences,
            "seed": seed,
        }
        tuned = result.tuned.with_mode(mode, found.settings, report)
        result = TuneResult([*result.modes, found], tuned)
        translator.tuned = tuned
        keep(result)
    return result


class _Tuner:
    """The search for the settings of one mode."""

    result: TunedMode

    def __init__(
        self,
        translator: Translator,
        sources: Sequence[str],
        statistics: SentenceStatistics,
        mode: TranslationMode,
        seed: int,
        given: dict[str, Any],
    ) -> None:
        self.translator, self.sources, self.statistics = translator, sources, statistics
        self.mode, self.seed, self.given = mode, seed, given
        self.free = frozenset() if "weights" in given else available_features(translator)
        self.current = translator.settings_for(mode, **given)
        # The search does not begin where an earlier one ended, so that it can be repeated.
        plain = {"weights": RankingWeights(), "rescoring": RankingWeights(), "minimum_risk": False}
        if mode == "rescored":  # charts are those of cky
            charts = translator.settings_for("cky", **given)
            self.base = replace(charts, minimum_risk=given.get("minimum_risk", False))
        else:
            self.base = replace(translator.settings, **{**plain, **given})
        normalised = given.get("length_normalised")
        self.normalisations = (False, True) if normalised is None else (normalised,)

    @property
    def size(self) -> int:
        """Number of steps, for the progress."""
        chunks, kinds = self._trials(self.base).size, len(self.normalisations)
        if self.mode == "flat":
            return kinds * (chunks + 1)
        if self.mode == "rescored":
            return 2 * chunks
        return kinds * (chunks + 2) + CYCLES * (WEIGHT_ROUNDS + len(self._grid()))

    def steps(self) -> Iterator[None]:
        """Do the work in steps; afterwards there is a ``result``."""
        before = self._dev_score(self.current)
        search = {"flat": self._flat, "cky": self._cky, "rescored": self._rescored}[self.mode]
        found = yield from search()
        after = self._dev_score(found)
        if after < before:
            found, after = self.current, before
        settings = {
            own.name: getattr(found, own.name)
            for own in fields(DecodingSettings)
            if getattr(found, own.name) != getattr(self.translator.model.decoding, own.name)
            or own.name in TUNED[self.mode]
        }
        scores = self.statistics.metric, before, after
        self.result = TunedMode(self.mode, settings, *scores, len(self.sources))

    def _flat(self) -> Search:
        """Weights for the hypotheses of beam search, with and without length normalisation."""
        options = []
        for is_normalised in self.normalisations:
            settings = replace(self.base, length_normalised=is_normalised)
            lists = NBestLists(self.statistics)
            for rows in self._trials(settings).flat():
                lists.add_all(rows)
                yield
            objective = Objective(lists)
            free = self.free - {"grammar", "phrase"}
            weights = search_weights(objective.of_values, settings.weights, free, self.seed)
            options.append((objective(weights), replace(settings, weights=weights)))
            yield
        return max(options, key=lambda option: option[0])[1]

    def _cky(self) -> Search:
        """Weights and probabilities of cuts, by charts that are filled again and again."""
        options = []
        for is_normalised in self.normalisations:
            settings = replace(self.base, length_normalised=is_normalised)
            trials = self._trials(settings)
            yield from trials.prepare()
            charts = _Charts(trials, self.statistics, self.free, self.seed, settings)
            yield
            charts.improve_weights()
            yield
            options.append(charts)
        charts = max(options, key=lambda option: option.score)
        options.clear()  # they take much memory
        for _ in range(CYCLES):
            for _ in range(WEIGHT_ROUNDS):
                charts.improve_weights()
                yield
            for name, value in self._grid():
                value_of: dict[str, Any] = {name: value}
                charts.try_settings(replace(charts.settings, **value_of))
                yield
        return charts.settings

    def _rescored(self) -> Search:
        """Weights for whole sentences; the charts are those of the mode cky."""
        if "rescoring" in self.given:
            return self.base
        trials = self._trials(self.base)
        yield from trials.prepare()
        lists = NBestLists(self.statistics)
        for rows in trials.rescored(self.base):
            lists.add_all(rows)
            yield
        objective = Objective(lists).of_values
        features = available_features(self.translator)
        weights = search_weights(objective, RankingWeights(), features, self.seed)
        return replace(self.base, rescoring=weights)

    def _grid(self) -> list[tuple[str, float]]:
        """Settings of the chart and the values that are tried."""
        most = self.translator.model.config.max_segments
        grid = [
            *(("flat_weight", value) for value in FLAT_WEIGHTS),
            *(("segment_rate", value) for value in SEGMENT_RATES),
            *(("max_segments", value) for value in range(2, min(most, MOST_SEGMENTS) + 1)),
        ]
        return [(name, value) for name, value in grid if name not in self.given]

    def _trials(self, settings: DecodingSettings) -> Trials:
        return Trials(self.translator, self.sources, settings)

    def _dev_score(self, settings: DecodingSettings) -> float:
        """Translate the dev set as a user would."""
        own = self.translator
        fixed = Translator(own.model, own.tokenizer, settings, own.tables)
        found = fixed.translate(self.sources, self.mode)
        return self.statistics.of_texts([one.text for one in found])


class _Charts:
    """The best settings of the charts so far, and their dev score."""

    def __init__(
        self,
        trials: Trials,
        statistics: SentenceStatistics,
        features: Collection[str],
        seed: int,
        settings: DecodingSettings,
    ) -> None:
        self.trials, self.statistics, self.settings = trials, statistics, settings
        self.features, self.seed, self.lists = features, seed, NBestLists(statistics)
        self.score = self._trial(settings)

    def improve_weights(self) -> None:
        """Search for weights among the candidates of all rounds, and fill charts with them."""
        self.lists.add_all(self.trials.cky(self.settings))
        objective = Objective(self.lists).of_values
        weights = search_weights(objective, self.settings.weights, self.features, self.seed)
        # What is best in a list may be too much for a chart: half of the way is tried too.
        for share in (1.0, 0.5):
            self.try_settings(
                replace(self.settings, weights=_between(self.settings.weights, weights, share))
            )

    def try_settings(self, settings: DecodingSettings) -> None:
        """Fill charts; keep the settings if they are better."""
        if settings == self.settings:
            return
        score = self._trial(settings)
        if score > self.score:
            self.score, self.settings = score, settings

    def _trial(self, settings: DecodingSettings) -> float:
        return self.statistics.of_texts(self.trials.best_texts(settings))


def _between(start: RankingWeights, end: RankingWeights, share: float) -> RankingWeights:
    """Weights on the way from one set to another."""
    pairs = zip(FEATURES, start.values, end.values, strict=True)
    return RankingWeights(**{name: one + share * (other - one) for name, one, other in pairs})
