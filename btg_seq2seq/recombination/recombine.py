"""New sentence pairs from old ones: aligned phrases are swapped along the trees of sentences.

Carries what the grammar knows into the flat mode: a model trained on recombined pairs translates
known phrases in new company, or in new places, without being told of trees. ``derivations.corpus``
holds the trees; ``slots`` says what may be swapped.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import accumulate, pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Tree
from btg_seq2seq.recombination.mend import mended
from btg_seq2seq.recombination.settings import RecombinationSettings
from btg_seq2seq.recombination.slots import ROOT, Part, Partners, PhraseUnits, suspicious
from btg_seq2seq.text.batches import WINDOW_BATCHES, BucketSampler, EncodedBitext, Example
from btg_seq2seq.text.corpus_units import CorpusUnits
from btg_seq2seq.text.units import NO_JOINS, WordJoins, fenceposts_of, word_joins

Aligned = tuple[int, int, int]  # start and stop in the source, length in the target
_TRIES = 10  # to recombine one sentence so that the result may be used


class Tries(NamedTuple):
    """Sentence pairs that were put together, and how many of them were excluded ones."""

    made: int = 0
    coincidences: int = 0

    def plus(self, other: Tries) -> Tries:
        """All of both."""
        return Tries(self.made + other.made, self.coincidences + other.coincidences)


class Attempt(NamedTuple):
    """The result of recombining a sentence pair."""

    new: tuple[list[int], list[int], list[Aligned]] | None  # source, target, phrases; or nothing
    tries: Tries


class HeldOut:
    """Sources that must never be made, by their text: in other tokens it is the same text."""

    def __init__(self, texts: Iterable[str], tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        lines = list(texts)
        rows = tokenizer(lines, verbose=False)["input_ids"] if lines else []
        # With a word that the tokenizer does not know, no sentence can be made.
        known = [row for row in rows if tokenizer.unk_token_id not in row]
        self.texts = {_spaced(text) for text in [*lines, *map(self._text, known)]}

    def __contains__(self, input_ids: object) -> bool:
        return _spaced(self._text(input_ids)) in self.texts

    def _text(self, input_ids: Any) -> str:
        return str(self.tokenizer.decode(input_ids, skip_special_tokens=True))


def _spaced(text: str) -> str:
    return " ".join(text.split())


class Recombiner:
    """Makes new sentence pairs from the phrases of a bitext; a function of the numbers given.

    Args:
        derivations: of ``examples``, sentence by sentence.
        examples: the sentence pairs.
        settings: how to recombine.
        excluded: sources, as the ``input_ids`` of an example, that must never be made; see
            ``HeldOut``.
        joins: tokens within words, see ``word_joins``: no word will be cut.
        unit_table: that of the model whose derivations these are; see ``text.units``.

    Attributes:
        tries: sentence pairs that were put together so far, and how many of them were excluded and
            put together again in another way; of ``batch``, only for batches that were asked for.
    """

    def __init__(
        self,
        derivations: DerivationCorpus,
        examples: EncodedBitext,
        settings: RecombinationSettings | None = None,
        excluded: Container[Sequence[int]] = (),
        joins: WordJoins = NO_JOINS,
        unit_table: Tensor | None = None,
    ) -> None:
        if len(derivations) != len(examples):
            raise UserError(
                f"{len(derivations)} derivations for {len(examples)} sentence pairs: collect them "
                "from the same set"
            )
        self.settings = settings or RecombinationSettings()
        self.examples, self.excluded = examples, excluded
        self.joins = joins
        self.unit_table = None if unit_table is None else unit_table.cpu()
        self.sides = (
            CorpusUnits.of(examples.source, unit_table, prefix=derivations.prefix),
            CorpusUnits.of(examples.target, unit_table),
        )
        self._check(derivations)
        self.tries = Tries()
        self._window: object = None  # what the batches that are kept were made for
        self._batches: list[tuple[list[Example], Tries]] = []
        # Nothing that is made is longer, or has more phrases, than what is there.
        self._most_leaves = int(np.diff(derivations.ends).max(initial=0))
        self._longest_source, self._longest_target = examples.lengths.max(0).tolist()
        phrase_pairs = self._take(derivations)
        if wrong := suspicious(phrase_pairs, self.settings.rare):
            phrase_pairs = self._take(mended(derivations, self.sides, wrong, joins))
        self.partners = Partners(phrase_pairs, self.settings.overlap, self.settings.rare)

    @classmethod
    def of_text(
        cls,
        derivations: DerivationCorpus,
        examples: EncodedBitext,
        tokenizer: PreTrainedTokenizerBase,
        settings: RecombinationSettings,
        exclude: Sequence[str],
        unit_table: Tensor | None,
    ) -> Recombiner:
        """Build it for what is read and written as text; ``exclude`` are sources."""
        held_out, joins = HeldOut(exclude, tokenizer), word_joins(tokenizer)
        return cls(derivations, examples, settings, held_out, joins, unit_table)

    def _check(self, derivations: DerivationCorpus) -> None:
        """Refuse derivations of other sentences, as far as can be seen."""
        of_phrase = np.repeat(np.arange(len(derivations)), np.diff(derivations.ends))
        for side, stops in zip(self.sides, derivations.spans[:, 1::2].T, strict=True):
            beyond = stops > side.lengths[of_phrase]
            if beyond.any():
                sentence = int(of_phrase[beyond.argmax()])
                raise UserError(
                    f"{self.examples.name}: line {self.examples.index[sentence] + 1} is shorter "
                    "than its derivation: collect the derivations from the same set"
                )

    def _take(self, derivations: DerivationCorpus) -> Mapping[str, Mapping[int, PhraseUnits]]:
        """Use these derivations; by slot, the phrase pair that each sentence has there."""
        self.derivations = derivations
        of_phrase = np.repeat(np.arange(len(derivations)), np.diff(derivations.ends))
        # Positions of tokens, in plain arrays: reading single numbers from NumPy's is slow.
        self._spans = [
            array("i", self.sides[place // 2].positions(of_phrase, column).tolist())
            for place, column in enumerate(derivations.spans.T)
        ]
        self._first_leaf = array("q", derivations.ends.tolist())
        self._trees: list[Mapping[str, Part]] = []  # by slot; without a derivation, empty
        self._stays: dict[int, set[str]] = {}  # slots whose phrases would cut a word
        phrase_pairs: defaultdict[str, dict[int, PhraseUnits]] = defaultdict(dict)
        for sentence in range(len(derivations)):
            phrases = derivations.phrases(sentence)
            self._trees.append(_parts_by_slot(_ranks(phrases)))
            for slot, phrase_pair, cuts_a_word in self._phrase_pairs(sentence, phrases):
                if cuts_a_word:
                    self._stays.setdefault(sentence, set()).add(slot)
                else:
                    phrase_pairs[slot][sentence] = phrase_pair
        return phrase_pairs

    def _phrase_pairs(
        self, sentence: int, phrases: Sequence[Sequence[int]]
    ) -> Iterator[tuple[str, PhraseUnits, bool]]:
        """The phrase pair in each slot of a sentence; the flag is true if it would cut a word."""
        source, target = (side[sentence] for side in self.sides)
        for slot, part in self._trees[sentence].items():
            if slot == ROOT:
                continue
            leaves = phrases[part.first : part.stop]
            start, stop = min(leaf[0] for leaf in leaves), max(leaf[1] for leaf in leaves)
            first, last = leaves[0][2], leaves[-1][3]
            phrase_pair = tuple(source[start:stop]), tuple(target[first:last])
            edges = ((source, start), (source, stop), (target, first), (target, last))
            yield slot, phrase_pair, any(self.joins.at(units, place) for units, place in edges)

    def recombine(self, position: int, *numbers: int) -> tuple[list[int], list[int]] | None:
        """New ``input_ids`` and ``labels`` in place of a sentence pair's; the frames are kept.

        A function of ``numbers``, such as a seed and an epoch, and of ``position``, the place of
        the sentence pair in ``examples``. ``None`` where nothing can be swapped, or where ten
        attempts gave what is excluded or longer than any of the examples.
        """
        new, tries = self._recombine(position, *numbers)
        self.tries = self.tries.plus(tries)
        return None if new is None else new[:2]

    def _recombine(self, position: int, *numbers: int) -> Attempt:
        tree = self._trees[position]
        if len(tree) < 2:
            return Attempt(None, Tries())
        random = Random(" ".join(map(str, (*numbers, position))))
        old_source, old_target = self.examples.source[position], self.examples.target[position]
        prefix = self.derivations.prefix
        leaves = slice(*self._first_leaf[position : position + 2])
        source_stop = prefix + max(self._spans[1][leaves])
        target_stop = self._spans[3][leaves][-1]
        coincidences = 0
        for made in range(1, _TRIES + 1):
            new_source, new_target, phrases = self._fill(
                position, tree[ROOT], random, self._most_leaves
            )
            source = old_source[:prefix] + new_source.tolist() + old_source[source_stop:]
            target = new_target.tolist() + old_target[target_stop:]
            in_units = self._in_units(new_source, new_target, phrases)
            if source in self.excluded:
                coincidences += 1
            elif (
                in_units is not None
                and len(source) <= self._longest_source
                and len(target) <= self._longest_target
            ):
                return Attempt((source, target, in_units), Tries(made, coincidences))
        return Attempt(None, Tries(_TRIES, coincidences))

    def _in_units(
        self, source: Sequence[int], target: Sequence[int], phrases: Sequence[Aligned]
    ) -> list[Aligned] | None:
        """Phrases of a new sentence pair, counted in its units; ``None`` if they cut a unit."""
        if self.unit_table is None:
            return list(phrases)
        ranks, written = (
            {post: rank for rank, post in enumerate(fenceposts_of(self.unit_table, tokens))}
            for tokens in (source, target)
        )
        ends = list(accumulate((length for _, _, length in phrases), initial=0))
        if any(stop not in ranks for _, stop, _ in phrases) or not written.keys() >= {*ends}:
            return None
        return [
            (ranks[start], ranks[stop], written[last] - written[first])
            for (start, stop, _), (first, last) in zip(phrases, pairwise(ends), strict=True)
        ]

    def batch(self, seed: int, step: int, **size: int) -> list[Example]:
        """Recombined sentence pairs of similar lengths for a step of training.

        A function of the numbers; ``size`` is ``batch_size`` or ``batch_tokens``, as that of
        ``BucketSampler``. Sentences that share a batch before they are recombined have any length
        after it; so those of many steps are made at once and shared out by their lengths.
        """
        window, place = divmod(step, WINDOW_BATCHES)
        if self._window != (seed, window, size):
            self._batches = self._make_batches(seed, window, size)
            self._window = seed, window, size
        rows, tries = self._batches[place]
        self.tries = self.tries.plus(tries)
        return rows

    def _make_batches(
        self, seed: int, window: int, size: Mapping[str, int]
    ) -> list[tuple[list[Example], Tries]]:
        random = np.random.default_rng([seed, window])
        rows: list[Example] = []
        tries: list[Tries] = []
        (budget,) = size.values()
        room = WINDOW_BATCHES * budget
        while True:
            position = int(random.integers(len(self.examples)))
            new, tried = self._recombine(position, seed, window, len(rows))
            row = self._example(position, new)
            longest = max(len(row["input_ids"]), len(row["labels"]))
            room -= longest if "batch_tokens" in size else 1
            if room < 0:
                break
            rows.append(row)
            tries.append(tried)
        lengths = [[len(row["input_ids"]), len(row["labels"])] for row in rows]
        batches = BucketSampler(lengths, **size, seed=seed).global_batches(window)
        return [
            ([rows[row] for row in batch], reduce(Tries.plus, [tries[row] for row in batch]))
            for batch in batches
        ]

    def _example(
        self, position: int, new: tuple[list[int], list[int], list[Aligned]] | None
    ) -> Example:
        """The new sentence pair, or the old one if there is none, with its derivation."""
        old = self.examples[position]
        old_phrases = [
            (start, stop, last - first)
            for start, stop, first, last in self.derivations.phrases(position)
        ]
        source, target, phrases = new or (old["input_ids"], old["labels"], old_phrases)
        ends = list(accumulate(length for _, _, length in phrases))
        if not ends:  # there is no derivation: one phrase, which will not be learned from
            read, written = (int(side.lengths[position]) - 1 for side in self.sides)
            phrases, ends = [(0, read, written)], [written]
        return Example(
            input_ids=source,
            labels=target,
            index=old["index"],
            tree=str(Tree.from_phrases([(start, stop) for start, stop, _ in phrases])),
            segmentation=list(pairwise([0, *ends])),
        )

    def _fill(
        self, sentence: int, part: Part, random: Random, room: int
    ) -> tuple[array[int], array[int], list[Aligned]]:
        """Source, target and phrases of a part or of what replaces it, down to the leaves.

        There is ``room`` for this many leaves.
        """
        if (
            part.slot != ROOT
            and random.random() < self.settings.rate
            and part.slot not in self._stays.get(sentence, ())
        ):
            partner = self.partners.draw(part.slot, random)
            if partner is not None and self._trees[partner[0]][partner[1]].leaves <= room:
                sentence, slot = partner
                part = self._trees[sentence][slot]
        if not part.parts:
            source, target = self._leaf(sentence, part.first)
            return source, target, [(0, len(source), len(target))]
        first, second = part.parts
        source, target, phrases = self._fill(sentence, first, random, room - second.leaves)
        more_source, more_target, more = self._fill(sentence, second, random, room - len(phrases))
        target = target + more_target
        if part.inverted:
            return more_source + source, target, _moved(phrases, len(more_source)) + more
        return source + more_source, target, phrases + _moved(more, len(source))

    def _leaf(self, sentence: int, leaf: int) -> tuple[array[int], array[int]]:
        start, stop, first, last = (
            column[self._first_leaf[sentence] + leaf] for column in self._spans
        )
        source, target = self.examples.source, self.examples.target
        at = source.ends[sentence] + self.derivations.prefix
        to = target.ends[sentence]
        return source.tokens[at + start : at + stop], target.tokens[to + first : to + last]


def _moved(phrases: list[Aligned], by: int) -> list[Aligned]:
    return [(start + by, stop + by, length) for start, stop, length in phrases]


def _ranks(phrases: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """For each phrase in target order, its rank in the source."""
    starts = sorted(phrase[0] for phrase in phrases)
    return tuple(starts.index(phrase[0]) for phrase in phrases)


@cache
def _parts_by_slot(ranks: tuple[int, ...]) -> Mapping[str, Part]:
    if not ranks:
        return {}
    whole = Part.of_order(ranks)
    return {part.slot: part for part in (whole, *whole.below())}
