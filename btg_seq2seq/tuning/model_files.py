"""Results of tuning beside a model: tuned settings and word-translation tables.

Files are replaced one mode at a time, together with their checksums, so that an interruption leaves
a model that can be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from btg_seq2seq.derivations.lexical.saved_tables import likely, save_tables
from btg_seq2seq.derivations.lexical.teacher import Track, untracked
from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus, UnitSide
from btg_seq2seq.derivations.lexical.word_tables import WordTables
from btg_seq2seq.manifest import replace_files
from btg_seq2seq.model.tuned.tuned_settings import TunedSettings
from btg_seq2seq.translation.inputs import check_pairs
from btg_seq2seq.translation.translator import Translator

LONGEST = 256  # tokens


def estimate_tables(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    track: Track = untracked,
) -> WordTables:
    """Estimate word-translation tables from a bitext, over the tokens of a model.

    The bitext should be the one that the model was trained on. Pairs with more than ``LONGEST``
    tokens on a side say little and cost most, so they are left out.
    """
    check_pairs(sources, targets)
    read = translator.reader.read(sources), translator.reader.read(targets, side="target")
    lengths = [[len(one.tokens) for one in side] for side in read]
    pairs = [
        pair
        for pair, *own in zip(zip(*read, strict=True), *lengths, strict=True)
        if min(own) > 0 and max(own) <= LONGEST
    ]
    sides = (
        UnitSide.of([own.tokens for own in side], [own.posts for own in side])
        for side in ([pair[number] for pair in pairs] for number in range(2))
    )
    return likely(WordTables.estimate(UnitCorpus(*sides), track=track))


def attach_tables(directory: str | PathLike[str], tables: WordTables) -> None:
    """Write tables beside a model."""
    replace_files(Path(directory), lambda place: save_tables(tables, place))


def save_tuned(directory: str | PathLike[str], tuned: TunedSettings) -> None:
    """Write tuned settings beside a model."""
    replace_files(Path(directory), tuned.save)
