"""Readable phrases for the SVO-SOV task: English on the source side, an invented language opposite.

English noun and verb phrases of one to four words are filled templates: "Clara", "my sister", "the
old captain", "my neighbour's lazy dog"; "met", "has met", "has never met", "must have often met".
Their translations are random strings of invented words such as "balo" and "kimeru". As with the
task's plain tokens, a phrase says nothing about the length or the words of its translation.
"""

from __future__ import annotations

from math import prod
from random import Random
from typing import NamedTuple

Phrase = tuple[str, ...]
Template = tuple[Phrase, ...]  # the words that may stand in each position

NAMES: Phrase = (
    *("Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Hugo"),
    *("Irene", "Jonas", "Karla", "Leo", "Maria", "Nina", "Oscar", "Paula"),
)
DETERMINERS: Phrase = ("the", "my", "our", "his", "her", "every", "this", "that")
ADJECTIVES: Phrase = (
    *("old", "young", "small", "tall", "clever", "quiet", "brave", "lazy"),
    *("proud", "shy", "strange", "kind"),
)
OWNERS: Phrase = (
    *("neighbour's", "sister's", "teacher's", "king's"),
    *("friend's", "doctor's", "uncle's", "baker's"),
)
NOUNS: Phrase = (
    *("captain", "teacher", "doctor", "baker", "farmer", "sailor", "singer", "painter"),
    *("king", "queen", "sister", "brother", "uncle", "cousin", "friend", "neighbour"),
    *("dog", "cat", "horse", "goat", "fox", "owl", "thief", "guest"),
)
VERBS: Phrase = ("met", "found", "helped", "followed", "visited", "praised", "missed", "trusted")
ADVERBS: Phrase = ("never", "often", "always", "finally", "secretly", "really")
AUXILIARIES: Phrase = ("has", "had")
MODALS: Phrase = ("must", "may", "could")

NOUN_PHRASES: tuple[Template, ...] = (
    (NAMES,),
    (DETERMINERS, NOUNS),
    (ADJECTIVES, NAMES),
    (DETERMINERS, ADJECTIVES, NOUNS),
    (DETERMINERS, OWNERS, NOUNS),
    (DETERMINERS, ADJECTIVES, OWNERS, NOUNS),
    (DETERMINERS, OWNERS, ADJECTIVES, NOUNS),
)
VERB_PHRASES: tuple[Template, ...] = (
    (VERBS,),
    (AUXILIARIES, VERBS),
    (ADVERBS, VERBS),
    (AUXILIARIES, ADVERBS, VERBS),
    (MODALS, ("have",), VERBS),
    (MODALS, ("have",), ADVERBS, VERBS),
    (AUXILIARIES, ("not",), ADVERBS, VERBS),
)
LONGEST = 4  # words of an English phrase

# Any two syllables make a word.
SYLLABLES: Phrase = (
    *("ba", "do", "fen", "gi", "hu", "ka", "lo", "mi", "nu", "pel"),
    *("ra", "so", "ti", "vu", "we", "ya", "zo", "mar", "lin", "kes"),
)
INVENTED_WORDS = len(SYLLABLES) ** 2


class EnglishPhrases(NamedTuple):
    """The phrases of some templates whose length is in a range."""

    templates: tuple[Template, ...]
    shortest: int
    longest: int

    @property
    def number(self) -> int:
        """Number of different phrases."""
        return sum(
            prod(map(len, template))
            for template in self.templates
            if self.shortest <= len(template) <= self.longest
        )

    def draw(self, random: Random) -> Phrase:
        """A phrase: lengths are equally probable, then templates, then words."""
        length = random.randint(self.shortest, self.longest)
        template = random.choice([one for one in self.templates if len(one) == length])
        return tuple(map(random.choice, template))


def invented_word(number: int) -> str:
    """The word with this number, from 0 to ``INVENTED_WORDS - 1``; all are different."""
    row, first = divmod(number, len(SYLLABLES))
    # Neighbouring numbers share no syllable, so a small vocabulary does not sound monotonous.
    second = (7 * first + row) % len(SYLLABLES)
    return SYLLABLES[first] + SYLLABLES[second]
