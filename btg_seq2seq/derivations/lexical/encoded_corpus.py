"""An encoded bitext as the lexical teacher reads it: tokens without their frame, and units."""

from __future__ import annotations

from torch import Tensor

from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus, UnitSide
from btg_seq2seq.text.batches import EncodedBitext
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.units import fenceposts_of


def unit_corpus(data: EncodedBitext, frames: Frames, unit_table: Tensor | None) -> UnitCorpus:
    """Take tokens and units of a bitext; each token is a unit without a table."""
    prefix, suffix = len(frames.source.prefix), len(frames.source.suffix)
    sources = [
        (row := data.source[position])[prefix : len(row) - suffix] for position in range(len(data))
    ]
    targets = [data.target[position][:-1] for position in range(len(data))]
    return UnitCorpus(
        *(
            UnitSide.of(side, [fenceposts_of(unit_table, row) for row in side])
            for side in (sources, targets)
        )
    )
