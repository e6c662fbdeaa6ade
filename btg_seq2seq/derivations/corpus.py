"""The derivations of a whole bitext, packed into two arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from btg_seq2seq.derivations.derivation import Derivation, PhrasePair
from btg_seq2seq.errors import UserError


@dataclass(frozen=True, eq=False)
class DerivationCorpus:
    """One derivation per sentence pair of a bitext, or none where there is no tree.

    Only the phrase pairs are kept, in target order: they determine the tree in normal form. Spans
    count units.
    """

    spans: NDArray[np.int32]  # [phrases, 4]: source start and stop, target start and stop
    ends: NDArray[np.int64]  # [sentences + 1]: first phrase of each sentence, and the end
    prefix: int = 0  # tokens that precede the sentence itself in ``input_ids``

    @classmethod
    def of(cls, derivations: Iterable[Derivation | None], prefix: int = 0) -> DerivationCorpus:
        """Pack derivations."""
        rows = [
            []
            if derivation is None
            else [(*pair.source, *pair.target) for pair in derivation.phrases]
            for derivation in derivations
        ]
        return cls.packed(rows, prefix)

    @classmethod
    def packed(cls, rows: Sequence[Sequence[Sequence[int]]], prefix: int) -> DerivationCorpus:
        """Pack the phrases of each sentence, in the form that ``phrases`` returns."""
        flat = [span for row in rows for span in row]
        return cls(
            np.array(flat, dtype=np.int32).reshape(-1, 4),
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            prefix,
        )

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def without_tree(self) -> int:
        """Number of sentence pairs without a derivation."""
        return int((np.diff(self.ends) == 0).sum())

    def phrases(self, position: int) -> list[list[int]]:
        """Source start and stop, target start and stop of each phrase pair of a sentence."""
        rows: list[list[int]] = self.spans[self.ends[position] : self.ends[position + 1]].tolist()
        return rows

    def __getitem__(self, position: int) -> Derivation | None:
        rows = self.phrases(range(len(self))[position])
        if not rows:
            return None
        return Derivation.from_phrases(
            PhrasePair((start, stop), (first, last)) for start, stop, first, last in rows
        )

    def save(self, path: str | Path) -> None:
        """Write a safetensors file."""
        prefix = np.array([self.prefix], dtype=np.int64)
        save_file({"spans": self.spans, "ends": self.ends, "prefix": prefix}, path)

    @classmethod
    def load(cls, path: str | Path) -> DerivationCorpus:
        """Read a file written by ``save``."""
        try:
            arrays = load_file(path)
            return cls(arrays["spans"], arrays["ends"], int(arrays["prefix"][0]))
        except (OSError, SafetensorError, KeyError) as error:
            raise UserError(f"{path}: no derivations can be read: {error}") from error
