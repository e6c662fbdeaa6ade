"""Gold trees over the words of a text, as trees over its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Leaf, Node, Tree
from btg_seq2seq.text.bitext import Bitext
from btg_seq2seq.text.tokenizers import word_token_spans


def gold_trees(tokenizer: PreTrainedTokenizerBase, bitext: Bitext) -> tuple[list[int], list[Tree]]:
    """The gold trees over tokens, and the indices of their sentences."""
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
        rows.append(row)
        gold.append(over_tokens(tree, [0, *(stop for _, stop in spans)]))
    return rows, gold


def over_tokens(tree: Tree, fenceposts: Sequence[int]) -> Tree:
    """A tree over words as one over tokens; word k ends at token ``fenceposts[k + 1]``."""
    if isinstance(tree, Node):
        left, right = (over_tokens(part, fenceposts) for part in (tree.left, tree.right))
        return Node(left, right, tree.inverted)
    return Leaf(fenceposts[tree.start], fenceposts[tree.stop])
