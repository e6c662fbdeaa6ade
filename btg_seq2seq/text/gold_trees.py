"""Gold trees over the words of a text, as trees over its units."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Leaf, Node, Tree
from btg_seq2seq.text.bitext import Bitext
from btg_seq2seq.text.tokenizers import encode_side, word_token_spans
from btg_seq2seq.text.units import fenceposts_of


def gold_trees(
    tokenizer: PreTrainedTokenizerBase, bitext: Bitext, unit_table: Tensor | None = None
) -> tuple[list[int], list[Tree]]:
    """The gold trees over units, and the indices of their sentences.

    Every token is a unit without a table of ``text.units``.
    """
    if bitext.trees is None:
        raise UserError(f"{bitext.name} has no trees")
    rows, gold = [], []
    for row, (text, printed) in enumerate(zip(bitext.source, bitext.trees, strict=True)):
        spans = word_token_spans(tokenizer, text)
        if not spans:
            continue
        tree = Tree.parse(printed)
        if (tree.start, tree.stop) != (0, len(spans)):
            raise UserError(
                f"{bitext.name}: line {row + 1}: the tree {tree} does not span the {len(spans)} "
                "words of the source"
            )
        tokens = encode_side(tokenizer, text, "source")["input_ids"]
        posts = fenceposts_of(unit_table, tokens)
        # Words of a text that share a unit are not parted.
        ends = [bisect_left(posts, stop) for _, stop in spans]
        rows.append(row)
        gold.append(over_units(tree, [0, *ends]))
    return rows, gold


def over_units(tree: Tree, fenceposts: Sequence[int]) -> Tree:
    """A tree over words as one over units; word k ends at unit ``fenceposts[k + 1]``."""
    if isinstance(tree, Node):
        left, right = (over_units(part, fenceposts) for part in (tree.left, tree.right))
        return Node(left, right, tree.inverted)
    return Leaf(fenceposts[tree.start], fenceposts[tree.stop])
