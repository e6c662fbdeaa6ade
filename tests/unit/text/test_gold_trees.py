"""Trees over words become trees over tokens."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Tree
from btg_seq2seq.text import Bitext, train_tokenizer
from btg_seq2seq.text.gold_trees import gold_trees, over_units


def test_a_word_has_all_of_its_tokens():
    tree = Tree.parse("[0:1 <1:2 2:4>]")
    assert str(over_units(tree, [0, 3, 4, 6, 7])) == "[0:3 <3:4 4:7>]"


def test_trees_of_a_bitext_and_the_sentences_they_belong_to():
    tokenizer = train_tokenizer("word", ["a b c"])
    bitext = Bitext(["a b c", "", "b a"], ["x", "", "y"], trees=["<0:2 2:3>", "", "[0:1 1:2]"])
    rows, trees = gold_trees(tokenizer, bitext)
    assert rows == [0, 2]
    assert [str(tree) for tree in trees] == ["<0:2 2:3>", "[0:1 1:2]"]


def test_pieces_of_words_are_kept_together():
    tokenizer = train_tokenizer("bpe", ["ab"] * 3, 300)
    (tree,) = gold_trees(tokenizer, Bitext(["ab cab"], ["x"], trees=["[0:1 1:2]"]))[1]
    tokens = tokenizer("ab cab", add_special_tokens=False)["input_ids"]
    first = tokenizer("ab", add_special_tokens=False)["input_ids"]
    assert len(tokens) > 2
    assert tree.phrases == ((0, len(first)), (len(first), len(tokens)))


def test_a_tree_of_another_length_is_refused_with_its_line():
    tokenizer = train_tokenizer("word", ["a b c"])
    with pytest.raises(UserError, match=r"line 2: the tree \[0:1 1:2\] does not span the 3 words"):
        gold_trees(tokenizer, Bitext(["a", "a b c"], ["x", "y"], trees=["0:1", "[0:1 1:2]"]))
    with pytest.raises(UserError, match="has no trees"):
        gold_trees(tokenizer, Bitext(["a"], ["x"]))
