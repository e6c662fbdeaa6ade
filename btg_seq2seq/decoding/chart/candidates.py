"""Phrase candidates: the translations of source spans that the chart combines.

A phrase translator finds them. A span is translated once, and rules change what it found.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence

import torch

from btg_seq2seq.decoding.chart.charts import NO_RULE, StringPool
from btg_seq2seq.decoding.constraints import RuleSpan, forced
from btg_seq2seq.decoding.features import rule_features, translation_features
from btg_seq2seq.decoding.phrase_translator import (
    Floats,
    KBest,
    PhraseTranslator,
    SentenceSpan,
    Tokens,
)


class Candidates:
    """Translations of some sentences, whole and by phrases, as strings of ``pool``.

    ``features``: names of the features that strings are ranked by, which are computed with them;
    ``None`` if they are ranked by probability.
    """

    def __init__(self, phrases: PhraseTranslator, features: Collection[str] | None = None) -> None:
        self.phrases, self.features = phrases, features
        self.pool = self.new_pool()
        # First string and number of strings of each whole sentence, and of each phrase.
        self._sentences: dict[int, tuple[int, int]] = {}
        self._known: dict[Hashable, tuple[int, int]] = {}
        self._log_probs: dict[tuple[Hashable, Tokens], float] = {}  # of targets of rules

    def new_pool(self) -> StringPool:
        """Make a pool for strings of the same kind."""
        return StringPool(self.features is not None)

    def find(self, span: SentenceSpan) -> tuple[int, int]:
        """Look up the first string and the number of strings of a span that is translated."""
        sentence, start, stop = span
        if stop - start == self.phrases.lengths[sentence]:
            return self._sentences[sentence]
        return self._known[self.phrases.key(span)]

    def translate_sentences(self, sentences: Iterable[int]) -> None:
        """Translate whole sentences, except for those that are translated already."""
        missing = [sentence for sentence in sentences if sentence not in self._sentences]
        spans = [(sentence, 0, self.phrases.lengths[sentence]) for sentence in missing]
        found = self._add(spans, self.phrases.translate_sentences(missing))
        self._sentences.update(zip(missing, found, strict=True))

    def translate_phrases(self, spans: Iterable[SentenceSpan]) -> int:
        """Translate the spans that are not translated yet; returns their number."""
        missing = {
            key: span
            for key, span in ((self.phrases.key(span), span) for span in spans)
            if key not in self._known
        }
        new = list(missing.values())
        found = self._add(new, self.phrases.translate_phrases(new))
        self._known.update(zip(missing, found, strict=True))
        return len(missing)

    def _add(self, spans: Sequence[SentenceSpan], kbest: KBest) -> list[tuple[int, int]]:
        """Append strings to the pool; returns the first string and the number of each phrase."""
        features = None
        if self.features is not None:
            features = translation_features(self.phrases, spans, kbest, self.features)
        strings = kbest.tokens, kbest.lengths, kbest.log_probs
        first = self.pool.add(*strings, features=features)
        begins = first + kbest.counts.cumsum() - kbest.counts
        return list(zip(begins.tolist(), kbest.counts.tolist(), strict=True))

    def with_rules(
        self, span: SentenceSpan, rules: Sequence[RuleSpan], extra: StringPool
    ) -> tuple[int, int]:
        """Look up the first string and the number of strings of a span under its rules.

        Strings that rules change are added to ``extra`` and numbered as if it followed the pool.
        """
        if not rules:
            return self.find(span)
        strings: dict[Tokens, tuple[float, int, Floats | None]] = {}
        must = forced(rules)
        if must:
            choices = must[0].choices
            log_probs = self._choose(span, list(choices.values()))
            for (target, spelled), log_prob in zip(choices.items(), log_probs, strict=True):
                strings[target] = log_prob, must[0].rule, self._rule_features(log_prob, spelled)
        else:
            begin, count = self.find(span)
            for string in range(begin, begin + count):
                features = self.pool.all.features[string : string + 1]
                log_prob = self.pool.all.log_probs[string]
                strings[self.pool.tokens(string)] = log_prob, NO_RULE, features
            for rule in rules:
                strings.update(
                    (target, (0.0, rule.rule, self._rule_features(0.0, spelled)))
                    for target, spelled in rule.choices.items()
                )
        first = self.pool.size + extra.size
        for tokens, (log_prob, number, own) in strings.items():
            extra.add(tokens, [len(tokens)], [log_prob], number, own)
        return first, len(strings)

    def _rule_features(self, log_prob: float, spelled: Tokens) -> Floats | None:
        if self.features is None:
            return None
        return rule_features(log_prob, spelled, self.phrases.unit_table)

    def score_targets(self, wanted: Iterable[tuple[SentenceSpan, Sequence[Tokens]]]) -> int:
        """Score the targets of each span that has several; returns how many were new."""
        missing = {
            (self.phrases.key(span), target): span
            for span, targets in wanted
            if len(targets) > 1
            for target in targets
            if (self.phrases.key(span), target) not in self._log_probs
        }
        targets = [target for _, target in missing]
        scores = self.phrases.score_phrases(list(missing.values()), targets) if missing else []
        self._log_probs.update(zip(missing, scores, strict=True))
        return len(missing)

    def _choose(self, span: SentenceSpan, targets: Sequence[Tokens]) -> list[float]:
        """Log-probability of each target, given that the translation is one of them.

        All are equally likely if the phrase translator cannot score one of them.
        """
        if len(targets) > 1:
            self.score_targets([(span, targets)])
            scores = [self._log_probs[self.phrases.key(span), target] for target in targets]
            log_probs = torch.tensor(scores, dtype=torch.double).log_softmax(0)
            if bool(log_probs.isfinite().all()):
                return [float(log_prob) for log_prob in log_probs]
        return [0.0 - math.log(len(targets))] * len(targets)
