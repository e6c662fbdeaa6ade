"""SVO-SOV: sentence pairs of a synchronous grammar, with gold trees, in two splits.

The paper's "Toy SVO-SOV Translation": subject, verb, object become subject, object, verb. Each of
the three is a phrase with a translation of its own. The data are a function of the settings in
``svo_sov_config``. Training and scoring are left to other modules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, cycle, islice, pairwise
from random import Random
from typing import NamedTuple

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.tasks.readable_words import Phrase, invented_word
from btg_seq2seq.tasks.svo_sov_config import Split, SvoSovConfig, Words

__all__ = ["SETS", "Item", "Split", "SvoSovConfig", "Words", "generate", "spans_of"]

SETS = ("train", "dev", "test")
_MOST_DRAWS = 10_000  # for one sentence; a config with room to spare needs one or two


@dataclass(frozen=True)
class Item:
    """A sentence pair, the tree over its source, and its target phrases in target order."""

    source: str
    target: str
    tree: Tree
    target_phrases: Segmentation

    @property
    def phrase_pairs(self) -> list[tuple[str, str]]:
        """Phrases and their translations, in target order: subject, object, verb."""
        source, target = self.source.split(), self.target.split()
        return [
            (" ".join(source[slice(*here)]), " ".join(target[slice(*there)]))
            for here, there in zip(self.tree.phrases, self.target_phrases, strict=True)
        ]


def generate(config: SvoSovConfig) -> dict[str, list[Item]]:
    """Make the sets ``train``, ``dev`` and ``test``; no sentence occurs twice in all of them."""
    grammar = _Grammar(config)
    make = _few_shot if config.split == "few-shot" else _novel_position
    train, evaluation = make(grammar)
    sets = [train, evaluation(config.dev_size), evaluation(config.test_size)]
    for sentences in sets:
        grammar.random.shuffle(sentences)
    return {
        name: [sentence.item() for sentence in sentences]
        for name, sentences in zip(SETS, sets, strict=True)
    }


class _Pair(NamedTuple):
    """A phrase and its translation."""

    source: Phrase
    target: Phrase


class _Sentence(NamedTuple):
    """A derivation of the grammar: Root -> <S V O, S O V>."""

    subject: _Pair
    verb: _Pair
    object: _Pair

    @property
    def source(self) -> Phrase:
        return self.subject.source + self.verb.source + self.object.source

    @property
    def target(self) -> Phrase:
        return self.subject.target + self.object.target + self.verb.target

    def item(self) -> Item:
        subject, verb, object_ = spans_of(len(pair.source) for pair in self)
        target_order = (self.subject, self.object, self.verb)
        return Item(
            source=" ".join(self.source),
            target=" ".join(self.target),
            tree=Tree.from_phrases([subject, object_, verb]),
            target_phrases=spans_of(len(pair.target) for pair in target_order),
        )


# Draws this many sentences for dev or test.
_Evaluation = Callable[[int], list[_Sentence]]


def spans_of(lengths: Iterable[int]) -> Segmentation:
    """Consecutive phrases of these lengths."""
    return list(pairwise(accumulate(lengths, initial=0)))


class _Grammar:
    """The phrase pairs of a config, and the sentences already made from them."""

    def __init__(self, config: SvoSovConfig) -> None:
        self.config = config
        # Seeded by text: Random(-1) and Random(1) are the same.
        self.random = Random(f"{config.split} {config.seed}")
        pairs = list(map(_Pair, self._source_phrases(), self._target_phrases()))
        self.nouns = pairs[: config.all_noun_phrases]
        self.verbs = pairs[config.all_noun_phrases :]
        source_nouns, target_nouns = map(set, zip(*self.nouns, strict=True))
        source_verbs, target_verbs = map(set, zip(*self.verbs, strict=True))
        self._source_order = (source_nouns, source_verbs, source_nouns)
        self._target_order = (target_nouns, target_nouns, target_verbs)
        self._made: set[Phrase] = set()

    def _source_phrases(self) -> list[Phrase]:
        """Different phrases: all noun phrases, then all verb phrases."""
        config = self.config
        if config.words == "readable":
            nouns = self._distinct(config.all_noun_phrases, config.english_noun_phrases.draw)
            return nouns + self._distinct(config.verb_phrases, config.english_verb_phrases.draw)
        words = [f"s{number}" for number in range(config.vocabulary_size)]
        return self._random_phrases(words)

    def _target_phrases(self) -> list[Phrase]:
        """Different translations, one for each source phrase."""
        numbers = range(self.config.vocabulary_size)
        if self.config.words == "readable":
            return self._random_phrases([invented_word(number) for number in numbers])
        return self._random_phrases([f"t{number}" for number in numbers])

    def _random_phrases(self, words: Sequence[str]) -> list[Phrase]:
        """Different random strings of words, enough for all noun and verb phrases."""

        def draw(random: Random) -> Phrase:
            return tuple(random.choices(words, k=random.randint(*self.config.phrase_lengths)))

        return self._distinct(self.config.all_noun_phrases + self.config.verb_phrases, draw)

    def _distinct(self, count: int, draw: Callable[[Random], Phrase]) -> list[Phrase]:
        """Draw phrases until this many are different."""
        phrases: dict[Phrase, None] = {}  # a set would forget the order
        while len(phrases) < count:
            phrases[draw(self.random)] = None
        # Short phrases run out, so those drawn late are longer: no kind may get only these.
        return self.random.sample(list(phrases), count)

    def draw(
        self, subjects: Sequence[_Pair], verbs: Sequence[_Pair], objects: Sequence[_Pair]
    ) -> _Sentence:
        """Draw a new sentence from these subjects, verbs and objects."""
        choose = self.random.choice
        return self.first_new(
            _Sentence(choose(subjects), choose(verbs), choose(objects)) for _ in range(_MOST_DRAWS)
        )

    def first_new(self, candidates: Iterable[_Sentence]) -> _Sentence:
        """Return the first candidate that is new and has only one reading."""
        for sentence in candidates:
            if (
                sentence.source not in self._made
                and _count_parses(sentence.source, *self._source_order) == 1
                and _count_parses(sentence.target, *self._target_order) == 1
            ):
                self._made.add(sentence.source)
                return sentence
        raise UserError(
            f"{self.config.split} data: {_MOST_DRAWS} draws gave no new sentence with only one "
            f"reading, after {len(self._made)} sentences; ask for fewer sentences, more phrases or "
            "a larger vocabulary_size"
        )


def _count_parses(
    words: Phrase, firsts: Set[Phrase], seconds: Set[Phrase], thirds: Set[Phrase]
) -> int:
    """Count the ways to cut the words into a phrase of each of the three sets, in this order."""
    return sum(
        words[i:j] in seconds and words[j:] in thirds
        for i in range(1, len(words) - 1)
        if words[:i] in firsts
        for j in range(i + 1, len(words))
    )


def _few_shot(grammar: _Grammar) -> tuple[list[_Sentence], _Evaluation]:
    """Train every subject in a few examples; test it with a verb and an object new to it."""
    config, random = grammar.config, grammar.random
    objects = grammar.nouns[: config.object_phrases]
    subjects = grammar.nouns[config.object_phrases :]
    train = [
        grammar.draw([subjects[example // config.examples_per_subject]], grammar.verbs, objects)
        for example in range(config.train_size)
    ]
    # Unless train_size is a multiple, the last subject has too few examples to be evaluated.
    complete = subjects[: config.train_size // config.examples_per_subject]
    company: dict[_Pair, list[_Pair]] = defaultdict(list)
    for sentence in train:
        company[sentence.subject] += [sentence.verb, sentence.object]
    contexts = list(dict.fromkeys((sentence.verb, sentence.object) for sentence in train))

    def in_new_company(subject: _Pair) -> Iterator[_Sentence]:
        for _ in range(_MOST_DRAWS):
            verb, object_ = random.choice(contexts)
            if verb not in company[subject] and object_ not in company[subject]:
                yield _Sentence(subject, verb, object_)

    def evaluation(size: int) -> list[_Sentence]:
        order = random.sample(complete, len(complete))
        chosen = islice(cycle(order), size)
        return [grammar.first_new(in_new_company(subject)) for subject in chosen]

    return train, evaluation


def _novel_position(grammar: _Grammar) -> tuple[list[_Sentence], _Evaluation]:
    """Train some noun phrases in one role only; test them in the other."""
    config, random = grammar.config, grammar.random
    nouns, verbs = grammar.nouns, grammar.verbs
    subject_only = nouns[: config.subject_only]
    object_only = nouns[config.subject_only :][: config.object_only]
    both_roles = nouns[config.subject_only + config.object_only :]
    subjects, objects = subject_only + both_roles, object_only + both_roles
    # At least one sentence for each phrase in each role.
    shapes = [([subject], verbs, objects) for subject in subjects]
    shapes += [(subjects, [verb], objects) for verb in verbs]
    shapes += [(subjects, verbs, [object_]) for object_ in objects]
    shapes += [(subjects, verbs, objects)] * (config.train_size - len(shapes))
    train = [grammar.draw(*shape) for shape in shapes]

    new_roles = [([subject], verbs, nouns) for subject in object_only]
    new_roles += [(nouns, verbs, [object_]) for object_ in subject_only]

    def evaluation(size: int) -> list[_Sentence]:
        order = random.sample(new_roles, len(new_roles))
        return [grammar.draw(*shape) for shape in islice(cycle(order), size)]

    return train, evaluation
