"""Algorithms 1-6 of the paper as printed: loops over segment counts, widths, starts and splits.

A chart cell is a tensor [batch]; everything is in log space and gradients come from autograd.
The rules of a cell are collected in a list and summed with one logsumexp, scores are unbound once,
and cells too narrow for their segments are never visited: what a careful reader of the paper would
write. It lives here only as the yardstick of the benchmark.
Finite scores, one length and one number of segments for the batch, no phrase length limit.
"""

from collections import defaultdict
from collections.abc import Iterator
from math import comb
from typing import Any, NamedTuple

import torch
from torch import Tensor

STRAIGHT, INVERTED = 0, 1

Cell = tuple[int, int, int, int]  # number of segments, start, stop, orientation
# What Algorithm 3 needs of a tree: () is a leaf, (first, second) a node, children in target order.
Topology = tuple[Any, ...]
LEAF: Topology = ()


class Phrase(NamedTuple):
    """A leaf of a sampled tree."""

    start: int
    stop: int
    segments: int = 1


class Rule(NamedTuple):
    """A node of a sampled tree; children in target order, as in the package's own trees."""

    first: "Phrase | Rule"
    second: "Phrase | Rule"
    inverted: bool
    segments: int


class TreeChart(NamedTuple):
    """The result of Algorithm 1."""

    log_partition: Tensor  # [batch]
    inside: dict[Cell, Tensor]  # log beta of a cell: [batch]
    normalised: dict[Cell, Tensor]  # log pi~ of the rules of a cell, in order: [rules, batch]
    root: Tensor  # log pi~(T^n -> A^n): [2, batch], straight then inverted


class LeafChart(NamedTuple):
    """The result of Algorithm 3, for the sentences whose trees have one topology."""

    sentences: list[int]
    topology: Topology
    scores: tuple[Tensor, ...]  # one [sentences] a split
    inside: dict[Topology, dict[tuple[int, int], Tensor]]  # log beta by node, then target span


def packed_index(start: int, split: int, stop: int) -> int:
    """The index of the scores of split (start, split, stop)."""
    return comb(stop, 3) + comb(split, 2) + start


def cells(length: int, segments: int) -> Iterator[Cell]:
    """The outer loops of Algorithms 1 and 6; a span narrower than its segments has no rule."""
    for count in range(2, segments + 1):
        for width in range(count, length + 1):
            for start in range(length - width + 1):
                yield count, start, start + width, STRAIGHT
                yield count, start, start + width, INVERTED


def rules(cell: Cell) -> Iterator[tuple[int, Cell, Cell]]:
    """The inner loops: packed index of the split, target-first child, target-second child."""
    segments, start, stop, orientation = cell
    other = 1 - orientation
    for split in range(start + 1, stop):
        index = packed_index(start, split, stop)
        if orientation == STRAIGHT:
            first_start, first_stop, second_start, second_stop = start, split, split, stop
        else:
            first_start, first_stop, second_start, second_stop = split, stop, start, split
        for first_segments in range(1, segments):
            second_segments = segments - first_segments
            if first_segments > first_stop - first_start:
                continue
            if second_segments > second_stop - second_start:
                continue
            # S -> I S | I I and I -> S I | S S: the first child never has its parent's orientation
            first = (first_segments, first_start, first_stop, other)
            yield index, first, (second_segments, second_start, second_stop, orientation)
            yield index, first, (second_segments, second_start, second_stop, other)


def one_segment_cells(zero: Tensor, length: int) -> dict[Cell, Tensor]:
    """beta[S^1] = beta[I^1] = log 1 = 0, and likewise KL = 0."""
    return {
        (1, start, stop, orientation): zero
        for start in range(length)
        for stop in range(start + 1, length + 1)
        for orientation in (STRAIGHT, INVERTED)
    }


def inside_tree(
    split_scores: Tensor,  # [batch, splits, 2]
    length: int,
    segments: int,
    normalise: bool = True,
) -> TreeChart:
    """Algorithm 1. Without `normalise` only its first half, all that log Z needs."""
    # One contiguous [batch] a split and orientation. Unbinding once matters: indexing the packed
    # tensor at every rule would give each its own full-size gradient.
    scores = [plane.unbind(0) for plane in split_scores.permute(2, 1, 0).contiguous()]
    inside = one_segment_cells(split_scores.new_zeros(split_scores.shape[0]), length)
    normalised: dict[Cell, Tensor] = {}
    for cell in cells(length, segments):
        cell_scores = scores[cell[3]]
        terms = torch.stack(  # [rules, batch]
            [
                cell_scores[index] + inside[first] + inside[second]
                for index, first, second in rules(cell)
            ]
        )
        inside[cell] = terms.logsumexp(0)
        if normalise:
            normalised[cell] = terms - inside[cell]
    root = torch.stack([inside[segments, 0, length, label] for label in (STRAIGHT, INVERTED)])
    log_partition = root.logsumexp(0)
    return TreeChart(log_partition, inside, normalised, root - log_partition)


def sample_tree(
    chart: TreeChart, length: int, segments: int, generator: torch.Generator | None = None
) -> list[Phrase | Rule]:
    """Algorithm 2, one tree a sentence."""

    def draw(log_probs: Tensor) -> int:
        return int(torch.multinomial(log_probs.exp(), 1, generator=generator))

    def descend(cell: Cell, sentence: int) -> Phrase | Rule:
        count, start, stop, orientation = cell
        if count == 1:
            return Phrase(start, stop)
        chosen = draw(chart.normalised[cell][:, sentence])
        _, first, second = list(rules(cell))[chosen]
        inverted = orientation == INVERTED
        return Rule(descend(first, sentence), descend(second, sentence), inverted, count)

    return [
        descend((segments, 0, length, draw(chart.root[:, sentence])), sentence)
        for sentence in range(chart.root.shape[1])
    ]


def tree_kl(posterior: TreeChart, prior: TreeChart, length: int, segments: int) -> Tensor:
    """Algorithm 6: KL(posterior || prior), [batch]."""
    divergence = one_segment_cells(torch.zeros_like(posterior.log_partition), length)
    for cell in cells(length, segments):
        log_q, log_p = posterior.normalised[cell], prior.normalised[cell]  # [rules, batch]
        children = torch.stack(
            [divergence[first] + divergence[second] for _, first, second in rules(cell)]
        )
        divergence[cell] = ((children + log_q - log_p) * log_q.exp()).sum(0)
    log_q, log_p = posterior.root, prior.root
    below = torch.stack([divergence[segments, 0, length, label] for label in (STRAIGHT, INVERTED)])
    return ((below + log_q - log_p) * log_q.exp()).sum(0)


def topology_of(tree: Any) -> Topology:
    """The nodes and their parts, in target order, of a tree of this module or of the package."""
    if tree.segments == 1:
        return LEAF
    return topology_of(tree.first), topology_of(tree.second)


def leaf_count(node: Topology) -> int:
    """The number of leaves below a node."""
    return 1 if node == LEAF else leaf_count(node[0]) + leaf_count(node[1])


def nodes_of(node: Topology) -> set[Topology]:
    """The internal nodes; two with one topology have the same inside table and are one here."""
    return set() if node == LEAF else {node} | nodes_of(node[0]) | nodes_of(node[1])


def leaf_rules(chart: LeafChart, node: Topology, start: int, stop: int) -> Tensor:
    """Log of score * beta * beta, each split point of a target span: [split points, sentences].

    Algorithms 4 and 5 as printed leave the rule score out of pi~; it belongs in, and with it their
    normalisation term is the cell's own inside score.
    """
    first, second = node
    first_inside, second_inside = chart.inside[first], chart.inside[second]
    return torch.stack(
        [
            chart.scores[packed_index(start, split, stop)]
            + first_inside[start, split]
            + second_inside[split, stop]
            for split in range(start + leaf_count(first), stop - leaf_count(second) + 1)
        ]
    )


def inside_leaf(
    split_scores: Tensor,  # [batch, splits] over target fenceposts
    length: int,
    trees: list[Any],
) -> tuple[Tensor, list[LeafChart]]:
    """Algorithm 3: log Z [batch] and the charts.

    As printed it keeps one table a segment count, which mixes the nodes of a tree that have as many
    leaves; here each node has its own. Sentences whose trees share their topology are
    one batch.
    """
    groups: defaultdict[Topology, list[int]] = defaultdict(list)
    for sentence, tree in enumerate(trees):
        groups[topology_of(tree)].append(sentence)
    charts, log_partitions = [], []
    for topology, sentences in groups.items():
        scores = split_scores[sentences].t().contiguous().unbind(0)
        zero = split_scores.new_zeros(len(sentences))  # [sentences]
        one_segment = {
            (start, stop): zero for start in range(length) for stop in range(start + 1, length + 1)
        }
        chart = LeafChart(sentences, topology, scores, {LEAF: one_segment})
        for node in sorted(nodes_of(topology), key=leaf_count):  # number of segments
            table = chart.inside[node] = {}
            for width in range(leaf_count(node), length + 1):
                for start in range(length - width + 1):
                    terms = leaf_rules(chart, node, start, start + width)
                    table[start, start + width] = terms.logsumexp(0)
        charts.append(chart)
        log_partitions.append(chart.inside[topology][0, length])
    return in_batch_order(charts, log_partitions), charts


def in_batch_order(charts: list[LeafChart], values: list[Tensor]) -> Tensor:
    """Values of each chart's sentences, back in the order of the batch: [batch]."""
    order = torch.tensor([sentence for chart in charts for sentence in chart.sentences])
    return torch.cat(values)[order.argsort()]


def sample_leaf(
    charts: list[LeafChart], length: int, generator: torch.Generator | None = None
) -> list[list[tuple[int, int]]]:
    """Algorithm 4: one segmentation of the target a sentence, phrases in target order."""

    def descend(
        chart: LeafChart, row: int, node: Topology, start: int, stop: int
    ) -> list[tuple[int, int]]:
        if node == LEAF:
            return [(start, stop)]
        probabilities = leaf_rules(chart, node, start, stop)[:, row].softmax(0)
        chosen = int(torch.multinomial(probabilities, 1, generator=generator))
        split = start + leaf_count(node[0]) + chosen
        first = descend(chart, row, node[0], start, split)
        return first + descend(chart, row, node[1], split, stop)

    drawn = {
        sentence: descend(chart, row, chart.topology, 0, length)
        for chart in charts
        for row, sentence in enumerate(chart.sentences)
    }
    return [drawn[sentence] for sentence in range(len(drawn))]


def leaf_entropy(charts: list[LeafChart], length: int) -> Tensor:
    """Algorithm 5: the entropy of the target segmentation, [batch].

    The recursion as printed visits a span once for each path that leads to it, exponentially many
    in the number of segments; here the entropy of a node over a span is computed once and kept.
    """

    def entropy(
        chart: LeafChart,
        known: dict[tuple[Topology, int, int], Tensor],
        node: Topology,
        start: int,
        stop: int,
    ) -> Tensor:
        if node == LEAF:
            return chart.inside[LEAF][start, stop]  # 0
        if (node, start, stop) not in known:
            first, second = node
            log_probs = leaf_rules(chart, node, start, stop) - chart.inside[node][start, stop]
            children = torch.stack(  # [split points, sentences], as log_probs
                [
                    entropy(chart, known, first, start, split)
                    + entropy(chart, known, second, split, stop)
                    for split in range(start + leaf_count(first), stop - leaf_count(second) + 1)
                ]
            )
            known[node, start, stop] = ((children - log_probs) * log_probs.exp()).sum(0)
        return known[node, start, stop]

    values = [entropy(chart, {}, chart.topology, 0, length) for chart in charts]
    return in_batch_order(charts, values)
