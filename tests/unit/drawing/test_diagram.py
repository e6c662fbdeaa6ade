"""What a picture shows: phrase pairs in source order and a tree over them."""

from dataclasses import replace

import pytest
from hypothesis import given
from pictures import example, orders, translations

from btg_seq2seq import Rule, Translation
from btg_seq2seq.drawing.diagram import MOST_CHARACTERS, MOST_PHRASES, Diagram
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Tree
from btg_seq2seq.translation.translation import TextDerivation

PAIRS = [("sie hat", "she has"), ("das Haus", "the house"), ("renoviert", "renovated")]


def test_pairs_and_tree():
    diagram = Diagram.of(example(PAIRS, [0, 2, 1], {2: Rule("renoviert", "renovated")}))
    assert [(pair.source, pair.target) for pair in diagram.pairs] == PAIRS
    assert diagram.pairs[1].source_words == ("das", "Haus")
    assert [pair.mark for pair in diagram.pairs] == [None, None, "rule"]
    assert diagram.target_order == (0, 2, 1)
    assert diagram.orders == [[0, 1, 2], [0, 2, 1], [0, 2, 1]]
    root = diagram.root
    assert (root.inverted, root.height, len(root.parts)) == (False, 2, 2)
    assert (root.parts[1].start, root.parts[1].stop, root.parts[1].inverted) == (1, 3, True)


def test_runs_of_the_same_orientation_are_one_node():
    words = [(word, word) for word in "abcdef"]
    diagram = Diagram.of(example(words, [0, 1, 2, 5, 4, 3]))
    assert [len(node.parts) for node in diagram.root.nodes] == [3, 4]


@given(translations())
def test_orders_follow_the_tree(translation):
    """The permutation comes from the tree of the derivation, by another way."""
    diagram = Diagram.of(translation)
    assert diagram.target_order == translation.derivation.tree.permutation
    assert diagram.orders[0] == [*range(len(diagram.pairs))]
    assert diagram.orders[-1] == [*diagram.target_order]
    for node in diagram.root.nodes:
        assert all(part.inverted != node.inverted for part in node.parts if part.parts)


@given(orders())
def test_every_node_stays_in_its_place(order):
    """A node takes the same places before and after it, so its brackets are upright."""
    diagram = Diagram.of(example([("a", "b")] * len(order), order))
    for node in diagram.root.nodes:
        for row in diagram.orders[: node.height + 1]:
            assert {*row[node.start : node.stop]} == {*range(node.start, node.stop)}


def test_marks():
    rules = {0: Rule("sie hat", mode="keep"), 1: Rule("das Haus", "the house", mode="prefer")}
    diagram = Diagram.of(example(PAIRS, [0, 1, 2], rules))
    assert [pair.mark for pair in diagram.pairs] == ["kept", "preferred", None]


def test_directions():
    diagram = Diagram.of(example([("ספר", "book")], [0]))
    assert (diagram.source_direction, diagram.target_direction) == ("rtl", "ltr")


def test_what_cannot_be_drawn_is_refused():
    good = example(PAIRS, [0, 2, 1])
    derivation = good.derivation
    with pytest.raises(UserError, match="no derivation to draw"):
        Diagram.of(Translation("", 0.0))
    many = example([("a", "b")] * (MOST_PHRASES + 1), [*range(MOST_PHRASES + 1)])
    with pytest.raises(UserError, match=f"{MOST_PHRASES + 1} phrases, but no more than"):
        Diagram.of(many)
    with pytest.raises(UserError, match="characters, but no more than"):
        Diagram.of(example([("a" * MOST_CHARACTERS, "b"), ("c", "d")], [0, 1]))
    with pytest.raises(UserError, match="2 phrases, but 3 are given"):
        Diagram.of(
            replace(good, derivation=TextDerivation(Tree.parse("[0:1 1:3]"), derivation.phrases))
        )
    with pytest.raises(UserError, match="are not those of the tree"):
        Diagram.of(replace(good, derivation=replace(derivation, phrases=derivation.phrases[::-1])))
    for span in ((0, 99), (-1, 3)):
        wrong = (replace(derivation.phrases[0], source_span=span), *derivation.phrases[1:])
        with pytest.raises(UserError, match="are not those of the tree"):
            Diagram.of(replace(good, derivation=replace(derivation, phrases=wrong)))
    with pytest.raises(UserError, match="'text' must be a text, not int"):
        Diagram.of(replace(good, text=3))
    with pytest.raises(UserError, match="must be a number or null"):
        Diagram.of(replace(good, log_prob="x"))
