"""Word-translation tables beside a model: written, checked when read, and used to score phrases.

The file has only pairs of words that are likely in one direction at least. Whatever else a file
holds is refused: it may come from anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from btg_seq2seq.derivations.lexical.kernels import pair_kernels
from btg_seq2seq.derivations.lexical.word_tables import KINDS, WordTables, numbers
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar.kernels.compiled import over_batch
from btg_seq2seq.manifest import LEXICAL_FILE

LIKELY = 1e-4  # pairs of words that are less likely in both directions are left out
REMEDY = "remove it, and make it again with btg tune --train-source and --train-target"
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def save_tables(tables: WordTables, directory: str | PathLike[str]) -> None:
    """Write the likely entries of tables into the directory of a model."""
    kept = likely(tables)
    # Half the size; probabilities need no more digits.
    arrays = {
        name: np.ascontiguousarray(array.astype(KINDS.get(name, np.float32)))
        for name, array in vars(kept).items()
    }
    save_file(arrays, Path(directory) / LEXICAL_FILE)


def likely(tables: WordTables) -> WordTables:
    """Leave out the pairs of words that are unlikely in both directions."""
    is_kept = (tables.forward >= LIKELY) | (tables.backward >= LIKELY)
    counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_kept, dtype=np.int64)])
    return replace(
        tables,
        begins=counts[tables.begins],
        columns=tables.columns[is_kept],
        forward=tables.forward[is_kept],
        backward=tables.backward[is_kept],
    )


def load_tables(
    directory: str | PathLike[str], vocabulary_size: int | None = None
) -> WordTables | None:
    """Read the tables beside a model; ``None`` if there are none, ``UserError`` if damaged."""
    path = Path(directory) / LEXICAL_FILE
    if not path.exists():
        return None
    try:
        with safe_open(path, "np") as file:
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"{path} cannot be read: {reason}; {REMEDY}") from error
    arrays = {
        name: array.astype(np.float64) if array.dtype == np.float32 else array
        for name, array in arrays.items()
    }
    if any(array.ndim != 1 for array in arrays.values()):
        raise UserError(f"{path} holds no word-translation tables; {REMEDY}")
    tables = WordTables.checked(arrays)
    if tables is None or not _is_sound(tables):
        raise UserError(f"{path} holds no word-translation tables; {REMEDY}")
    largest = max(max(words, default=0) for words in (tables.source_words, tables.target_words))
    if vocabulary_size is not None and largest >= vocabulary_size:
        raise UserError(
            f"{path} has the token {largest}, but the vocabulary of the model has "
            f"{vocabulary_size}; {REMEDY}"
        )
    return tables


def _is_sound(tables: WordTables) -> bool:
    """Tell whether lookups work and all scores are finite."""
    rising = all(
        bool((np.diff(words) > 0).all()) and (not len(words) or words[0] >= 0)
        for words in (tables.source_words, tables.target_words)
    )
    # Within a source word, target words rise: entries are found by bisection.
    steps = np.diff(tables.columns.astype(np.int64)) > 0
    borders = tables.begins[1:-1]
    borders = borders[(borders > 0) & (borders < len(tables.columns))]
    steps[borders - 1] = True
    shares = [tables.forward, tables.backward, tables.source_rates, tables.target_rates]
    empty = [tables.empty_source, tables.empty_target]
    return (
        rising
        and bool(steps.all())
        and all(bool(((values >= 0) & (values <= 1 + 1e-6)).all()) for values in shares)
        and all(bool(((values > 0) & (values <= 1 + 1e-6)).all()) for values in empty)
    )


def lexical_scores(
    tables: WordTables,
    sources: tuple[Integers, Integers],
    targets: tuple[Integers, Integers],
    owners: Sequence[int] | Integers,
) -> Floats:
    """Score strings against the phrases they translate: ``[strings, 2]``, both directions.

    ``sources`` and ``targets`` are tokens, one phrase or string behind the other, and lengths.
    ``owners[s]`` is the rank of the phrase that string ``s`` translates.
    """
    results = np.zeros((len(targets[1]), 2))
    if len(results):
        ends = [
            np.concatenate([np.zeros(1, np.int64), np.cumsum(own[1], dtype=np.int64)])
            for own in (sources, targets)
        ]
        over_batch(
            pair_kernels.score_pairs,
            len(results),
            2000,
            np.asarray(owners, np.int64),
            *(numbers(tables.source_words, sources[0]), ends[0]),
            *(numbers(tables.target_words, targets[0]), ends[1]),
            *(tables.entries, tables.empty_source, tables.empty_target, results),
        )
    return results
