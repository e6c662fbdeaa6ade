"""Derivation trees: construction, normal form, printing and parsing, JSON, phrases."""

import json
import re
from itertools import pairwise, permutations

import oracle
import pytest
from checks import refused
from hypothesis import given
from strategies import oracle_trees, public_trees, to_public

from btg_seq2seq.grammar import Leaf, Node, Tree

STRAIGHT = Node(Leaf(0, 1), Leaf(1, 2))
INVERTED = Node(Leaf(0, 1), Leaf(1, 2), inverted=True)
LATER_STRAIGHT = Node(Leaf(1, 2), Leaf(2, 3))
LATER_INVERTED = Node(Leaf(1, 2), Leaf(2, 3), inverted=True)


def test_example_of_the_design():
    tree = Node(Leaf(0, 2), Node(Leaf(2, 3), Leaf(3, 5), inverted=True))
    assert str(tree) == "[0:2 <2:3 3:5>]"
    assert (tree.start, tree.split, tree.stop, tree.segments) == (0, 2, 5, 3)
    assert tree.phrases == ((0, 2), (3, 5), (2, 3))
    assert tree.permutation == (0, 2, 1)
    assert tree.nodes == (tree, tree.right)
    assert not tree.inverted
    assert tree.right.inverted
    assert (tree.first, tree.second) == (tree.left, tree.right)
    assert (tree.right.first, tree.right.second) == (Leaf(3, 5), Leaf(2, 3))


def test_leaf():
    leaf = Leaf(2, 5)
    assert (leaf.start, leaf.stop, leaf.segments) == (2, 5, 1)
    assert str(leaf) == "2:5"
    assert leaf.phrases == ((2, 5),)
    assert leaf.permutation == (0,)
    assert leaf.nodes == ()
    assert isinstance(leaf, Tree)
    assert isinstance(STRAIGHT, Tree)


@given(oracle_trees())
def test_everything_a_tree_says_of_itself(expected):
    tree = to_public(expected)
    phrases = [tuple(phrase) for phrase in oracle.phrases(expected)]
    assert str(tree) == oracle.bracketing(expected)
    assert (tree.start, tree.stop, tree.segments) == (0, max(phrases)[1], len(phrases))
    assert tree.phrases == tuple(phrases)
    assert tree.permutation == tuple(sorted(phrases).index(phrase) for phrase in phrases)
    assert tree.nodes == tuple(to_public(branch) for branch in oracle.branches(expected))
    for node, branch in zip(tree.nodes, oracle.branches(expected), strict=True):
        assert (node.start, node.split, node.stop) == oracle.split(branch)
        assert node.split == node.left.stop == node.right.start
        assert node.inverted == branch.inverted
        assert (node.first, node.second) == tuple(map(to_public, oracle.in_target_order(branch)))


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (3, 3), (3, 2)])
def test_a_phrase_is_not_empty(start, stop):
    with refused(start, stop):
        Leaf(start, stop)


@pytest.mark.parametrize(
    ("left", "right"), [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((1, 2), (0, 1)), ((0, 1), (0, 1))]
)
def test_children_are_adjacent(left, right):
    with refused():
        Node(Leaf(*left), Leaf(*right))


@pytest.mark.parametrize(
    ("left", "right", "inverted", "allowed"),
    [
        # straight: the left child is first
        (STRAIGHT, Leaf(2, 3), False, False),
        (INVERTED, Leaf(2, 3), False, True),
        (Leaf(0, 1), LATER_STRAIGHT, False, True),
        (Leaf(0, 1), LATER_INVERTED, False, True),
        # inverted: the right child is first
        (STRAIGHT, Leaf(2, 3), True, True),
        (INVERTED, Leaf(2, 3), True, True),
        (Leaf(0, 1), LATER_STRAIGHT, True, True),
        (Leaf(0, 1), LATER_INVERTED, True, False),
    ],
)
def test_normal_form(left, right, inverted, allowed):
    if allowed:
        assert Node(left, right, inverted=inverted).segments == 3
    else:
        with refused("normal form"):
            Node(left, right, inverted=inverted)


def test_only_normal_form_can_be_built():
    for candidate in oracle.bracketings((0, 1, 2, 3, 4)):
        if oracle.is_normal(candidate):
            assert str(to_public(candidate)) == oracle.bracketing(candidate)
        else:
            with refused():
                to_public(candidate)


@given(public_trees())
def test_text_and_json_round_trips(tree):
    for again in (Tree.parse(str(tree)), Tree.from_json(json.loads(json.dumps(tree.to_json())))):
        assert again == tree
        assert type(again) is type(tree)
        assert hash(again) == hash(tree)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("[0:1 1:2", 8),  # not closed
        ("[0:1 x:2]", 5),  # not a number
        ("[0:1 1-2]", 6),  # not a colon
        ("[0:1 1:2>", 8),  # wrong closing bracket
        ("<0:1 1:2]", 8),
        ("[0:1 1:2 2:3]", 9),  # three children
        ("[0:1]", 4),  # one child
        ("[0:1 1:2] 2:3", 10),  # more after the end
        ("(0:1 1:2)", 0),  # unknown bracket
    ],
)
def test_malformed_text_says_where(text, position):
    with refused() as error:
        Tree.parse(text)
    message = str(error.value).replace(text, "")
    numbers = [int(number) for number in re.findall(r"\d+", message)]
    # counted from 0 or from 1, and before or after the white space that leads to it
    by_number = {position - 1, position, position + 1} & set(numbers)
    assert by_number or (position == len(text) and "end" in message), str(error.value)


@pytest.mark.parametrize(
    "text", ["[0:1 2:3]", "[0:0 0:1]", "[[0:1 1:2] 2:3]", "<0:1 <1:2 2:3>>", "2:1"]
)
def test_well_formed_text_of_no_tree(text):
    with refused():
        Tree.parse(text)


@pytest.mark.parametrize(
    "broken",
    [{}, {"nothing": 1}, None, 3, [], "0:1", True, {"orientation": "straight", "children": [True]}],
)
def test_malformed_json(broken):
    with pytest.raises(ValueError, match="not a tree: "):
        Tree.from_json(broken)
    node = {"orientation": "straight", "children": [{"span": [0, 1]}, broken]}
    with pytest.raises(ValueError, match="not a tree: "):
        Tree.from_json(node)


def test_malformed_json_deep_inside():
    broken = {}
    for _ in range(100_000):
        broken = {"children": [broken]}
    with pytest.raises(ValueError, match="not a tree: ") as error:
        Tree.from_json(broken)
    assert len(str(error.value)) < 500


@given(public_trees(), public_trees())
def test_equality_is_by_value(one, other):
    assert (one == other) == (str(one) == str(other))
    assert len({one, other}) == len({str(one), str(other)})
    assert one != str(one)


def test_leaf_differs_from_node_over_the_same_span():
    assert Leaf(0, 2) != STRAIGHT != INVERTED


@pytest.mark.parametrize("tree", [Leaf(0, 1), STRAIGHT], ids=str)
@pytest.mark.parametrize("name", ["start", "stop", "left", "right", "inverted", "anything"])
def test_immutable(tree, name):
    before = str(tree)
    with pytest.raises((AttributeError, TypeError)):
        setattr(tree, name, 0)
    assert str(tree) == before


@given(public_trees())
def test_from_phrases_inverts_phrases(tree):
    assert Tree.from_phrases(tree.phrases) == tree
    assert Tree.from_phrases(list(tree.phrases)) == tree


@pytest.mark.parametrize("fenceposts", [(0, 1), (0, 2, 3), (0, 2, 3, 5), (0, 1, 2, 4, 5)])
def test_every_segmentation_and_reordering_has_at_most_one_tree(fenceposts):
    normal = [tree for tree in oracle.bracketings(fenceposts) if oracle.is_normal(tree)]
    by_phrases = {tuple(map(tuple, oracle.phrases(tree))): tree for tree in normal}
    assert len(by_phrases) == len(normal), "two trees for one reordering"
    rejected = 0
    for reordering in permutations(pairwise(fenceposts)):
        if reordering in by_phrases:
            assert Tree.from_phrases(reordering) == to_public(by_phrases[reordering])
        else:
            rejected += 1
            with refused():
                Tree.from_phrases(reordering)
    assert rejected == (2 if len(fenceposts) == 5 else 0)


@pytest.mark.parametrize("order", [(1, 3, 0, 2), (2, 0, 3, 1), (0, 2, 4, 1, 3), (1, 3, 0, 4, 2)])
def test_reorderings_that_no_tree_yields(order):
    with refused():
        Tree.from_phrases([(rank, rank + 1) for rank in order])


@pytest.mark.parametrize("phrases", [[], [(0, 1), (2, 3)], [(0, 1), (0, 1)], [(0, 2), (1, 3)]])
def test_phrases_that_do_not_tile(phrases):
    with refused():
        Tree.from_phrases(phrases)


@pytest.mark.parametrize(("segments", "count"), list(enumerate([1, 2, 6, 22, 90, 394], start=1)))
def test_orders_of_one_word_phrases_are_counted_by_the_large_schroeder_numbers(segments, count):
    """The package's own trees, not the oracle's: a tree for each order that a bracketing has."""
    trees = set()
    for order in permutations([(i, i + 1) for i in range(segments)]):
        try:
            trees.add(Tree.from_phrases(order))
        except ValueError:
            continue
    assert len(trees) == count


@pytest.mark.parametrize("kind", ["straight", "inverted", "spiral"])
def test_deep_trees(kind):
    """Deeper than Python's stack, which long sentences that are cut at rules may have."""
    count = 3000
    order = {
        "straight": range(count),
        "inverted": range(count - 1, -1, -1),
        "spiral": sorted(range(count), key=lambda rank: abs(rank - count // 2)),
    }[kind]
    phrases = tuple((rank, rank + 1) for rank in order)
    tree = Tree.from_phrases(phrases)
    assert tree.phrases == phrases
    assert (tree.start, tree.stop, tree.segments, len(tree.nodes)) == (0, count, count, count - 1)
    assert Tree.parse(str(tree)) == tree
    assert hash(Tree.parse(str(tree))) == hash(tree)
    assert eval(repr(tree)) == tree
    assert Tree.from_json(tree.to_json()) == tree
    node, depth = tree.to_json(), 0
    while "children" in node:
        left, right = node["children"]
        node, depth = left if "children" in left else right, depth + 1
    assert depth == count - 1
