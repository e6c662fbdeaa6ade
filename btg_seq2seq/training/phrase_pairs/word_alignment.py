"""Word alignments by Fast-Align (Dyer et al., 2013) of sil-thot, both directions symmetrised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from btg_seq2seq.errors import UserError
from btg_seq2seq.training.phrase_pairs.consistent import Link

ITERATIONS = 5


def fast_align(
    sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> list[list[Link]]:
    """Link the words of sentence pairs; both directions are joined by grow-diag-final-and."""
    try:
        from thot import alignment
    except ImportError as error:
        raise UserError(
            "Fast-Align needs the package sil-thot: pip install 'btg-seq2seq[align]'"
        ) from error
    forward = _trained(alignment.FastAlignModel(), sources, targets)
    backward = _trained(alignment.FastAlignModel(), targets, sources)
    aligner = alignment.SymmetrizedAligner(forward, backward)
    aligner.heuristic = alignment.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
    found: list[list[Link]] = []
    for source, target in zip(sources, targets, strict=True):
        if not (source and target):
            found.append([])
            continue
        _, matrix = aligner.get_best_alignment(list(source), list(target))
        found.append([(int(x), int(y)) for x, y in np.argwhere(matrix.to_numpy())])
    return found


def _trained(model: Any, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> Any:
    for source, target in zip(sources, targets, strict=True):
        if source and target:
            model.add_sentence_pair(list(source), list(target))
    model.start_training()
    for _ in range(ITERATIONS):
        model.train()
    model.end_training()
    return model
