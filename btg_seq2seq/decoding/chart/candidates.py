"""Phrase candidates: what the seq2seq model makes of source spans, by beam search.

All spans that are asked for together, of all sentences, are decoded in batches of like length, and
never again: a cache keeps them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.decoding.chart.charts import NO_RULE, StringPool
from btg_seq2seq.decoding.constraints import RuleSpan, forced
from btg_seq2seq.decoding.encoding import Source, encode_sources, phrase_states
from btg_seq2seq.decoding.flat import search_sentences
from btg_seq2seq.decoding.hypotheses import Tokens
from btg_seq2seq.decoding.search.beams import Beams, Level, length_batches, most_rows
from btg_seq2seq.decoding.search.phrases import phrase_search
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.modes import evaluating
from btg_seq2seq.model.transducer import BTGSeq2Seq

Place = tuple[int, int, int]  # sentence, start, stop


class Candidates:
    """Translations of some sentences, whole and by phrases, as strings of ``pool``."""

    def __init__(
        self, model: BTGSeq2Seq, sources: Sequence[Source], settings: DecodingSettings
    ) -> None:
        self.model, self.sources, self.settings = model, list(sources), settings
        self.pool = StringPool()
        # First string and number of strings of each whole sentence.
        self.flat: dict[int, tuple[int, int]] = {}
        self._tokens = [tuple(source.own_tokens.tolist()) for source in sources]
        self._known: dict[Hashable, tuple[int, int]] = {}
        self._log_probs: dict[tuple[Hashable, Tokens], float] = {}  # of targets that were given

    def _key(self, place: Place) -> Hashable:
        """Phrases that are encoded alone are the same wherever they stand."""
        if self.model.config.phrase_encoding == "sentence":
            return place
        sentence, start, stop = place
        return self._tokens[sentence][start:stop]

    def find(self, place: Place) -> tuple[int, int]:
        """First string and number of strings of a whole sentence, or of a span that is known."""
        sentence, start, stop = place
        if stop - start == self.sources[sentence].length:
            return self.flat[sentence]
        return self._known[self._key(place)]

    def batches(self, sentences: Sequence[int]) -> Iterator[list[int]]:
        """Those of the sentences that are not translated as wholes, in batches."""
        missing = [sentence for sentence in sentences if sentence not in self.flat]
        lengths = [len(self.sources[sentence].tokens) for sentence in missing]
        most = most_rows(self.model.backbone, self.settings)
        for rows in length_batches(lengths, self.settings, most):
            yield [missing[row] for row in rows]

    def translate_whole(self, sentences: Sequence[int]) -> None:
        """Encode a batch of sentences and translate them as wholes."""
        with evaluating(self.model):
            self._encode(sentences)
            own = [self.sources[sentence] for sentence in sentences]
            beams = search_sentences(self.model, own, self.settings)
        self.flat.update(zip(sentences, add_beams(self.pool, beams), strict=True))

    def _encode(self, sentences: Sequence[int]) -> None:
        new = [sentence for sentence in sentences if self.sources[sentence].encoded is None]
        if new:
            encoded = encode_sources(self.model, [self.sources[sentence] for sentence in new])
            for sentence, source in zip(new, encoded, strict=True):
                self.sources[sentence] = source

    def fill(self, places: Iterable[Place]) -> int:
        """Decode the spans that are not yet known; returns how many those were."""
        missing = {
            key: place
            for key, place in ((self._key(place), place) for place in places)
            if key not in self._known
        }
        keys, spans = list(missing), list(missing.values())
        backbone, settings = self.model.backbone, self.settings
        level = Level.phrase(backbone) if spans else None
        lengths = [stop - start for _, start, stop in spans]
        with evaluating(self.model):
            for rows in length_batches(lengths, settings, most_rows(backbone, settings)):
                assert level is not None
                chosen = [spans[row] for row in rows]
                states, mask = self._states(chosen)
                limits = [settings.longest_output(lengths[row]) for row in rows]
                limit = torch.tensor(limits, device=states.device)
                beams = phrase_search(backbone, level, states, mask, limit, settings)
                found = add_beams(self.pool, beams)
                self._known.update(zip((keys[row] for row in rows), found, strict=True))
        return len(spans)

    def _states(self, places: Sequence[Place]) -> tuple[Tensor, Tensor]:
        if self.model.config.phrase_encoding == "sentence":
            for sentence in {sentence for sentence, *_ in places}:
                self._encode([sentence])
        phrases = [(self.sources[sentence], start, stop) for sentence, start, stop in places]
        return phrase_states(self.model, phrases)

    def with_rules(
        self, place: Place, rules: Sequence[RuleSpan], extra: StringPool
    ) -> tuple[int, int]:
        """First and number of the strings of a span under the rules that are for it.

        What rules change is added to ``extra`` and numbered as if that stood behind the pool.
        """
        if not rules:
            return self.find(place)
        strings: dict[Tokens, tuple[float, int]] = {}
        must = forced(rules)
        if must:
            choices = must[0].choices
            log_probs = self._choose(place, list(choices.values()))
            for target, log_prob in zip(choices, log_probs, strict=True):
                strings[target] = log_prob, must[0].rule
        else:
            begin, count = self.find(place)
            for string in range(begin, begin + count):
                strings[self.pool.tokens(string)] = self.pool.all.log_probs[string], NO_RULE
            for rule in rules:
                strings.update((target, (0.0, rule.rule)) for target in rule.targets)
        first = self.pool.size + extra.size
        for tokens, (log_prob, number) in strings.items():
            extra.add(tokens, [len(tokens)], [log_prob], number)
        return first, len(strings)

    def score_targets(self, wanted: Iterable[tuple[Place, Sequence[Tokens]]]) -> int:
        """Score what has to be chosen from and is not yet known; returns how many those were."""
        missing = {
            (self._key(place), target): place
            for place, targets in wanted
            if self._is_choice(targets)
            for target in targets
            if (self._key(place), target) not in self._log_probs
        }
        keys, places = list(missing), list(missing.values())
        with evaluating(self.model):
            for rows in length_batches([len(target) for _, target in keys], self.settings):
                used = list(dict.fromkeys(places[row] for row in rows))
                states, mask = self._states(used)
                rank = {place: number for number, place in enumerate(used)}
                which = torch.tensor([rank[places[row]] for row in rows], device=states.device)
                targets = [torch.tensor(keys[row][1], device=states.device) for row in rows]
                scores = score_phrases(self.model, states[which], mask[which], targets)[:, -1]
                own = (keys[row] for row in rows)
                self._log_probs.update(zip(own, scores.tolist(), strict=True))
        return len(missing)

    def _is_choice(self, targets: Sequence[Tokens]) -> bool:
        """Whether there are several, and the model can say how likely they are."""
        longest, backbone = max(map(len, targets)), self.model.backbone
        return len(targets) > 1 and Level.phrase(backbone).longest(backbone, longest) == longest

    def _choose(self, place: Place, targets: Sequence[Tokens]) -> list[float]:
        """Log-probability of each of several translations, given that it must be one of them."""
        if self._is_choice(targets):
            self.score_targets([(place, targets)])
            scores = [self._log_probs[self._key(place), target] for target in targets]
            log_probs = torch.tensor(scores, dtype=torch.double).log_softmax(0)
            if bool(log_probs.isfinite().all()):
                return [float(log_prob) for log_prob in log_probs]
        return [0.0 - math.log(len(targets))] * len(targets)


def add_beams(pool: StringPool, beams: Beams) -> list[tuple[int, int]]:
    """Append the strings of beams; returns first string and number of strings of each row."""
    known = beams.log_probs > -torch.inf  # [rows, beam]
    place = torch.arange(beams.tokens.shape[2], device=known.device)
    own = known[..., None] & (place < beams.lengths[..., None])
    first = pool.add(
        beams.tokens[own].cpu().numpy(),
        beams.lengths[known].cpu().numpy(),
        beams.log_probs[known].cpu().numpy(),
    )
    counts = known.sum(1).cpu().numpy()
    begins = first + np.cumsum(counts) - counts
    return list(zip(begins.tolist(), counts.tolist(), strict=True))


def score_phrases(
    model: BTGSeq2Seq, states: Tensor, mask: Tensor, targets: Sequence[Tensor]
) -> Tensor:
    """Log-probability that a phrase becomes the first 1, 2, ... tokens of its target and ends.

    ``[rows, longest target]``; behind the end of a target, its last value is repeated.
    """
    tokens = pad_sequence(list(targets), batch_first=True, padding_value=model.backbone.pad)
    scores = model.prefix_log_probs(tokens, states, mask).double()
    lengths = torch.tensor([len(target) for target in targets], device=tokens.device)
    last = (lengths - 1)[:, None].minimum(torch.arange(tokens.shape[1], device=tokens.device))
    return scores.gather(1, last)
