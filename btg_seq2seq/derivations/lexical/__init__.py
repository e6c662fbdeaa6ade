"""The lexical teacher: word-translation tables, and the exact bitext grammar that they score.

No neural network, no tokenizer. Positions of derivations are units::

    corpus = UnitCorpus.of_text(source_lines, target_lines)      # words are units and tokens
    corpus = UnitCorpus(UnitSide.of(tokens, posts), ...)         # a model's tokens and units

    teacher = LexicalTeacher.learn(corpus, LexicalSettings(max_segments=4), threads=2,
                                   cache="runs/teacher", track=progress.track)
    taught = teacher.teach(track=progress.track)                 # a TaughtCorpus

    taught.best_derivation(position)         # the most probable; None if there is none
    taught.best_derivation(position, 3)      # with three phrases
    taught.best_log_prob(position)           # its log-probability given the sentence pair
    taught.count_log_probs(position)         # log-probability of 1, 2, ... phrases
    taught.drawn_derivation(position, draw)  # an exact sample, with n >= 2 phrases if possible
    taught.phrases(position, draw)           # the same as rows i, k, a, c, in target order
    taught.log_density(position, draw)       # log-probability of its tree, given n
    taught.count, taught.without_derivation  # draws per sentence pair; pairs without derivations

A position is the place of a sentence pair in the corpus. Draws depend on the seed, the position and
the number of the draw, not on ranges or threads. ``UnitSide.fenceposts(position)`` turns units into
tokens. An interrupted run with a ``cache`` goes on where it stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from btg_seq2seq.lazy import lazy_names

if TYPE_CHECKING:
    from btg_seq2seq.derivations.lexical.bitext_chart import BitextChart
    from btg_seq2seq.derivations.lexical.settings import LexicalSettings
    from btg_seq2seq.derivations.lexical.taught_corpus import TaughtCorpus
    from btg_seq2seq.derivations.lexical.teacher import LexicalTeacher
    from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus, UnitSide
    from btg_seq2seq.derivations.lexical.word_tables import WordTables

__all__ = [
    "BitextChart",
    "LexicalSettings",
    "LexicalTeacher",
    "TaughtCorpus",
    "UnitCorpus",
    "UnitSide",
    "WordTables",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BitextChart": "bitext_chart",
        "LexicalSettings": "settings",
        "LexicalTeacher": "teacher",
        "TaughtCorpus": "taught_corpus",
        "UnitCorpus": "unit_corpus",
        "UnitSide": "unit_corpus",
        "WordTables": "word_tables",
    },
)
