"""Settings of the SVO-SOV task, with the paper's sizes as defaults; no torch.

The data are a function of these settings, which include the seed. Generating is left to
``svo_sov``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from btg_seq2seq.checks import one_of
from btg_seq2seq.errors import UserError
from btg_seq2seq.tasks.readable_words import (
    INVENTED_WORDS,
    LONGEST,
    NOUN_PHRASES,
    VERB_PHRASES,
    EnglishPhrases,
)

Split = Literal["few-shot", "novel-position"]
Words = Literal["tokens", "readable"]
DEFAULT = -1

# Few-shot, novel-position; 0 where a number does not apply to a split. The paper gives the sizes of
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


@dataclass(frozen=True)
class SvoSovConfig:
    """Settings of the generator; a number left at -1 becomes the default of its split."""

    split: Split = "few-shot"
    """few-shot: known phrases in new company; novel-position: known phrases in a new role."""
    seed: int = 0
    """Seed of all random choices."""
    phrase_lengths: tuple[int, int] = (1, 8)
    """Fewest and most words of a phrase, on either side."""
    train_size: int = DEFAULT
    """Sentence pairs for training."""
    dev_size: int = DEFAULT
    """Sentence pairs for choosing settings, drawn like those of the test set."""
    test_size: int = DEFAULT
    """Sentence pairs for testing."""
    vocabulary_size: int = DEFAULT
    """Words on either side; noun and verb phrases share them. The readable English words are a
    fixed list, so with them it counts target words."""
    verb_phrases: int = DEFAULT
    """Number of verb phrases."""
    object_phrases: int = DEFAULT
    """few-shot: number of noun phrases used as objects; the others are subjects."""
    examples_per_subject: int = DEFAULT
    """few-shot: training examples per subject; train_size determines the number of subjects."""
    noun_phrases: int = DEFAULT
    """novel-position: number of noun phrases."""
    subject_only: int = DEFAULT
    """novel-position: number of noun phrases that are never an object in training."""
    object_only: int = DEFAULT
    """novel-position: number of noun phrases that are never a subject in training."""
    words: Words = "tokens"
    """tokens: s0, s1, ... and t0, t1, ...; readable: English phrases and an invented language."""

    @classmethod
    def tiny(cls, split: Split, seed: int = 0, words: Words = "tokens") -> SvoSovConfig:
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
        return cls(split, seed, (1, 3), 300, 60, 60, verb_phrases=8, words=words, **phrases)

    def __post_init__(self) -> None:
        one_of("split", self.split, get_args(Split))
        one_of("words", self.words, get_args(Words))
        # JSON has no tuples.
        object.__setattr__(self, "phrase_lengths", tuple(self.phrase_lengths))
        for name, defaults in _DEFAULTS.items():
            default = defaults[get_args(Split).index(self.split)]
            number = getattr(self, name)
            if number == DEFAULT:
                object.__setattr__(self, name, default)
            elif default == 0 and number != 0:
                raise UserError(f"{name} is {number}, but the {self.split} split does not use it")
            elif number < (smallest := 0 if default == 0 or name.endswith("_only") else 1):
                raise UserError(f"{name} is {number}; it must be at least {smallest}")
        self._check_phrases()
        self._check_training()

    def _check_phrases(self) -> None:
        shortest, longest = self.phrase_lengths
        if not 1 <= shortest <= longest:
            raise UserError(
                f"phrase_lengths is {self.phrase_lengths}; give the fewest, at least 1, and the "
                "most words"
            )
        existing = sum(self.vocabulary_size**length for length in range(shortest, longest + 1))
        wanted = self.all_noun_phrases + self.verb_phrases
        if wanted > existing:
            raise UserError(
                f"{wanted} different phrases are needed, but only {existing} have {shortest} to "
                f"{longest} of {self.vocabulary_size} words; raise vocabulary_size"
            )
        if self.words == "readable":
            self._check_readable()

    def _check_readable(self) -> None:
        if self.phrase_lengths[1] > LONGEST:
            raise UserError(
                f"phrase_lengths is {self.phrase_lengths}, but readable phrases have at most "
                f"{LONGEST} words"
            )
        if self.vocabulary_size > INVENTED_WORDS:
            raise UserError(
                f"vocabulary_size is {self.vocabulary_size}, but there are {INVENTED_WORDS} "
                "readable words"
            )
        for name, wanted, phrases in (
            ("noun", self.all_noun_phrases, self.english_noun_phrases),
            ("verb", self.verb_phrases, self.english_verb_phrases),
        ):
            if wanted > phrases.number:
                raise UserError(
                    f"{wanted} different {name} phrases are needed, but only {phrases.number} "
                    f"readable ones have {self.phrase_lengths[0]} to {self.phrase_lengths[1]} words"
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
                f"phrase in each of its roles as often as the {self.split} split requires"
            )

    @property
    def all_noun_phrases(self) -> int:
        """Number of noun phrases, in either split."""
        if self.split == "novel-position":
            return self.noun_phrases
        return -(-self.train_size // self.examples_per_subject) + self.object_phrases

    @property
    def english_noun_phrases(self) -> EnglishPhrases:
        """Readable noun phrases to draw from."""
        return EnglishPhrases(NOUN_PHRASES, *self.phrase_lengths)

    @property
    def english_verb_phrases(self) -> EnglishPhrases:
        """Readable verb phrases to draw from."""
        return EnglishPhrases(VERB_PHRASES, *self.phrase_lengths)
