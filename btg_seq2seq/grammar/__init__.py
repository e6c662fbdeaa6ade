"""Bracketing trees and exact distributions over them: torch, NumPy and numba, no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btg_seq2seq.lazy import lazy_names

if TYPE_CHECKING:
    from btg_seq2seq.grammar.batch import Segmentation, SegmentationBatch, TreeBatch
    from btg_seq2seq.grammar.leaf_crf import LeafCRF
    from btg_seq2seq.grammar.packing import segment_pairs, spans, splits
    from btg_seq2seq.grammar.segment_counts import truncated_geometric
    from btg_seq2seq.grammar.sizes import phrase_length_limits
    from btg_seq2seq.grammar.tree import Leaf, Node, Span, Tree
    from btg_seq2seq.grammar.tree_crf import TreeCRF

__all__ = [
    "Leaf",
    "LeafCRF",
    "Node",
    "Segmentation",
    "SegmentationBatch",
    "Span",
    "Tree",
    "TreeBatch",
    "TreeCRF",
    "phrase_length_limits",
    "segment_pairs",
    "spans",
    "splits",
    "truncated_geometric",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Leaf": "tree",
        "LeafCRF": "leaf_crf",
        "Node": "tree",
        "Segmentation": "batch",
        "SegmentationBatch": "batch",
        "Span": "tree",
        "Tree": "tree",
        "TreeBatch": "batch",
        "TreeCRF": "tree_crf",
        "phrase_length_limits": "sizes",
        "segment_pairs": "packing",
        "spans": "packing",
        "splits": "packing",
        "truncated_geometric": "segment_counts",
    },
)
