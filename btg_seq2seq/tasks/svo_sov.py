"""SVO -> SOV: sentence pairs of a synchronous grammar, with gold trees, in two splits.

The paper's "Toy SVO-SOV Translation". The data are a function of the config, which has the seed.
Training on them and scoring are left to others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, cycle, islice, pairwise
from random import Random
from typing import Literal, NamedTuple, get_args

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Segmentation, Tree

Split = Literal["few-shot", "novel-position"]
SETS = ("train", "dev", "test")
DEFAULT = -1

# Few-shot, novel-position; 0 where a split has no use for a number. The paper tells the sizes of
# the three sets and the phrase lengths; the other numbers are ours.
_DEFAULTS = {
    "train_size": (2000, 20000),
    "dev_size": (500, 5000),
    "test_size": (500, 5000),
    "vocabulary_size": (200, 100),
    "verb_phrases": (30, 30),
    "object_phrases": (50, 0),
    "examples_per_subject": (3, 0),
    "noun_phrases": (0, 100),
    "subject_only": (0, 10),
    "object_only": (0, 10),
}
_MOST_DRAWS = 10_000  # for one sentence; a config with room to spare needs one or two


@dataclass(frozen=True)
class SvoSovConfig:
    """What to generate; a number left at -1 becomes the default of its split."""

    split: Split = "few-shot"
    """few-shot: known phrases in new company; novel-position: known phrases in a new role."""
    seed: int = 0
    """Seed of everything that is random."""
    phrase_lengths: tuple[int, int] = (1, 8)
    """Fewest and most tokens of a phrase, on either side."""
    train_size: int = DEFAULT
    """Sentence pairs to train on."""
    dev_size: int = DEFAULT
    """Sentence pairs to choose settings with, drawn like those of the test."""
    test_size: int = DEFAULT
    """Sentence pairs to test on."""
    vocabulary_size: int = DEFAULT
    """Tokens on either side; noun and verb phrases share them."""
    verb_phrases: int = DEFAULT
    """Number of verb phrases."""
    object_phrases: int = DEFAULT
    """few-shot: number of noun phrases that are objects; the others are subjects."""
    examples_per_subject: int = DEFAULT
    """few-shot: training examples of a subject; train_size gives the number of subjects."""
    noun_phrases: int = DEFAULT
    """novel-position: number of noun phrases."""
    subject_only: int = DEFAULT
    """novel-position: how many noun phrases are never an object in training."""
    object_only: int = DEFAULT
    """novel-position: how many noun phrases are never a subject in training."""

    @classmethod
    def tiny(cls, split: Split, seed: int = 0) -> SvoSovConfig:
        """Short phrases and a few hundred examples, for tests."""
        if split == "few-shot":
            phrases = {"vocabulary_size": 80, "object_phrases": 12}
        else:
            phrases = {
                "vocabulary_size": 40,
                "noun_phrases": 24,
                "subject_only": 4,
                "object_only": 4,
            }
        return cls(split, seed, (1, 3), 300, 60, 60, verb_phrases=8, **phrases)

    def __post_init__(self) -> None:
        if self.split not in get_args(Split):
            raise UserError(f"split is {self.split!r}; choose from {', '.join(get_args(Split))}")
        # JSON has no tuples.
        object.__setattr__(self, "phrase_lengths", tuple(self.phrase_lengths))
        for name, defaults in _DEFAULTS.items():
            default = defaults[get_args(Split).index(self.split)]
            number = getattr(self, name)
            if number == DEFAULT:
                object.__setattr__(self, name, default)
            elif default == 0 and number != 0:
                raise UserError(f"{name} is {number}, but means nothing in the {self.split} split")
            elif number < (0 if default == 0 or name.endswith("_only") else 1):
                raise UserError(f"{name} is {number}; it cannot be so small")
        self._check_phrases()
        self._check_training()

    def _check_phrases(self) -> None:
        shortest, longest = self.phrase_lengths
        if not 1 <= shortest <= longest:
            raise UserError(
                f"phrase_lengths is {self.phrase_lengths}; give the fewest, at least 1, and the "
                "most tokens"
            )
        existing = sum(self.vocabulary_size**length for length in range(shortest, longest + 1))
        wanted = self.all_noun_phrases + self.verb_phrases
        if wanted > existing:
            raise UserError(
                f"{wanted} different phrases are needed, but only {existing} have {shortest} to "
                f"{longest} of {self.vocabulary_size} tokens; raise vocabulary_size"
            )

    def _check_training(self) -> None:
        if self.split == "few-shot":
            least = self.examples_per_subject
        else:
            one_role = self.subject_only + self.object_only
            most = max(self.subject_only, self.object_only)
            if not (1 <= one_role <= self.noun_phrases and most < self.noun_phrases):
                raise UserError(
                    f"subject_only is {self.subject_only}, object_only {self.object_only}; of "
                    f"{self.noun_phrases} noun phrases, some must be in one role only, and some "
                    "left for each role"
                )
            least = 2 * self.noun_phrases - one_role + self.verb_phrases
        if self.train_size < least:
            raise UserError(
                f"train_size is {self.train_size}; {least} examples are needed to show every "
                "phrase in each of its roles as often as the split asks"
            )

    @property
    def all_noun_phrases(self) -> int:
        """Number of noun phrases, in either split."""
        if self.split == "novel-position":
            return self.noun_phrases
        return -(-self.train_size // self.examples_per_subject) + self.object_phrases


@dataclass(frozen=True)
class Item:
    """A sentence pair, the tree over its source, and its target phrases in target order."""

    source: str
    target: str
    tree: Tree
    target_phrases: Segmentation


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


Phrase = tuple[str, ...]


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


# Draws so many sentences for dev or test.
_Evaluation = Callable[[int], list[_Sentence]]


def spans_of(lengths: Iterable[int]) -> Segmentation:
    """Phrases of these lengths, one behind the other."""
    return list(pairwise(accumulate(lengths, initial=0)))


class _Grammar:
    """The phrase pairs of a config, and the sentences that were already made of them."""

    def __init__(self, config: SvoSovConfig) -> None:
        self.config = config
        # Seeded by text: Random(-1) and Random(1) are the same.
        self.random = Random(f"{config.split} {config.seed}")
        pairs = list(map(_Pair, self._phrases("s"), self._phrases("t")))
        self.nouns = pairs[: config.all_noun_phrases]
        self.verbs = pairs[config.all_noun_phrases :]
        source_nouns, target_nouns = map(set, zip(*self.nouns, strict=True))
        source_verbs, target_verbs = map(set, zip(*self.verbs, strict=True))
        self._source_order = (source_nouns, source_verbs, source_nouns)
        self._target_order = (target_nouns, target_nouns, target_verbs)
        self._made: set[Phrase] = set()

    def _phrases(self, letter: str) -> list[Phrase]:
        """Different phrases of one side, enough for all nouns and verbs."""
        count = self.config.all_noun_phrases + self.config.verb_phrases
        phrases: dict[Phrase, None] = {}  # a set would forget the order
        while len(phrases) < count:
            length = self.random.randint(*self.config.phrase_lengths)
            tokens = self.random.choices(range(self.config.vocabulary_size), k=length)
            phrases[tuple(f"{letter}{token}" for token in tokens)] = None
        # Short phrases run out, so those drawn late are longer: no kind may get only these.
        return self.random.sample(list(phrases), count)

    def draw(
        self, subjects: Sequence[_Pair], verbs: Sequence[_Pair], objects: Sequence[_Pair]
    ) -> _Sentence:
        """A new sentence with a subject, a verb and an object out of these."""
        choose = self.random.choice
        return self.first_new(
            _Sentence(choose(subjects), choose(verbs), choose(objects)) for _ in range(_MOST_DRAWS)
        )

    def first_new(self, candidates: Iterable[_Sentence]) -> _Sentence:
        """The first candidate that was not made before and can be read in one way only."""
        for sentence in candidates:
            if (
                sentence.source not in self._made
                and _count_parses(sentence.source, *self._source_order) == 1
                and _count_parses(sentence.target, *self._target_order) == 1
            ):
                self._made.add(sentence.source)
                return sentence
        raise UserError(
            f"{self.config.split} data: no new sentence that can be read in one way only in "
            f"{_MOST_DRAWS} draws, after {len(self._made)} sentences; ask for fewer sentences, "
            "more phrases or a larger vocabulary_size"
        )


def _count_parses(
    tokens: Phrase, firsts: Set[Phrase], seconds: Set[Phrase], thirds: Set[Phrase]
) -> int:
    """In how many ways the tokens are a phrase of each of the three sets, in this order."""
    return sum(
        tokens[i:j] in seconds and tokens[j:] in thirds
        for i in range(1, len(tokens) - 1)
        if tokens[:i] in firsts
        for j in range(i + 1, len(tokens))
    )


def _few_shot(grammar: _Grammar) -> tuple[list[_Sentence], _Evaluation]:
    """Every subject in a few training examples; then with a verb and an object new to it."""
    config, random = grammar.config, grammar.random
    objects = grammar.nouns[: config.object_phrases]
    subjects = grammar.nouns[config.object_phrases :]
    train = [
        grammar.draw([subjects[example // config.examples_per_subject]], grammar.verbs, objects)
        for example in range(config.train_size)
    ]
    # The last subject is short of examples unless train_size is a multiple: it is not evaluated.
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
    """Some noun phrases in one role only in training; then in the other."""
    config, random = grammar.config, grammar.random
    nouns, verbs = grammar.nouns, grammar.verbs
    subject_only = nouns[: config.subject_only]
    object_only = nouns[config.subject_only :][: config.object_only]
    both_roles = nouns[config.subject_only + config.object_only :]
    subjects, objects = subject_only + both_roles, object_only + both_roles
    # One sentence for each phrase in each role, so that none is missing by chance.
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
