"""The cases of benchmarks/grammar.py: inputs of a size, and the calls of each candidate.

The same float32 scores go to the package's fast path, its portable path and the textbook loops;
every sentence has the full length and the full number of segments.
"""

from collections.abc import Callable
from functools import partial
from math import comb
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from benchmarks import textbook
from btg_seq2seq.grammar import LeafCRF, TreeCRF

LOG_PARTITION = "log Z + gradient"
DIVERGENCE = "KL + gradient"
SAMPLE = "sample"
LEAVES = "leaf entropy + log Z + gradient"
MEASURES = (LOG_PARTITION, DIVERGENCE, SAMPLE, LEAVES)
PATHS = ("fast", "portable", "textbook")
Kernels = Literal["fast", "portable"]


class Size(NamedTuple):
    """One row of the table for each measure."""

    batch: int
    length: int
    segments: int


# Values that the candidates must agree on, then gradients; or, of a sampler, trees.
Outcome = tuple[Any, tuple[Tensor, ...]]


def with_gradients(values: tuple[Tensor, ...], inputs: tuple[Tensor, ...]) -> Outcome:
    """Values [batch] each, and the gradient of their sum."""
    gradients = torch.autograd.grad([value.sum() for value in values], inputs)
    return tuple(value.detach() for value in values), gradients


class Problem:
    """The inputs of one size and what each candidate does with them."""

    def __init__(self, size: Size, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        splits = comb(size.length + 1, 3)

        def random(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator).requires_grad_()

        self.size = size
        self.posterior = random(size.batch, splits, 2)
        self.prior = random(size.batch, splits, 2)
        self.target = random(size.batch, splits)  # the target is as long as the source
        self.lengths = torch.full((size.batch,), size.length)
        self.segments = torch.full((size.batch,), size.segments)
        self.generator = generator

    def draw_trees(self) -> None:
        """The trees of the leaf CRF, from the tree CRF itself."""
        with torch.no_grad():
            self.trees = self.tree_crf(self.posterior, "fast").sample(self.generator)
        self.tree_list = list(self.trees)

    def tree_crf(self, scores: Tensor, kernels: Kernels) -> TreeCRF:
        """The package's CRF over the trees of every sentence."""
        return TreeCRF(scores, self.lengths, self.segments, kernels=kernels)

    def package(self, measure: str, kernels: Kernels) -> Outcome:
        """One call of the package, from scores to result."""
        if measure == LOG_PARTITION:
            crf = self.tree_crf(self.posterior, kernels)
            return with_gradients((crf.log_partition,), (self.posterior,))
        if measure == DIVERGENCE:
            posterior = self.tree_crf(self.posterior, kernels)
            divergence = posterior.kl(self.tree_crf(self.prior, kernels))
            return with_gradients((divergence,), (self.posterior, self.prior))
        if measure == SAMPLE:
            with torch.no_grad():
                return self.tree_crf(self.posterior, kernels).sample(self.generator), ()
        leaves = LeafCRF(self.target, self.lengths, self.trees, kernels=kernels)
        return with_gradients((leaves.entropy, leaves.log_partition), (self.target,))

    def textbook(self, measure: str) -> Outcome:
        """The same with the printed algorithms."""
        _, length, segments = self.size
        if measure == LOG_PARTITION:
            chart = textbook.inside_tree(self.posterior, length, segments, normalise=False)
            return with_gradients((chart.log_partition,), (self.posterior,))
        if measure == DIVERGENCE:
            posterior = textbook.inside_tree(self.posterior, length, segments)
            prior = textbook.inside_tree(self.prior, length, segments)
            divergence = textbook.tree_kl(posterior, prior, length, segments)
            return with_gradients((divergence,), (self.posterior, self.prior))
        if measure == SAMPLE:
            with torch.no_grad():
                chart = textbook.inside_tree(self.posterior, length, segments)
                return textbook.sample_tree(chart, length, segments, self.generator), ()
        log_partition, charts = textbook.inside_leaf(self.target, length, self.tree_list)
        entropy = textbook.leaf_entropy(charts, length)
        return with_gradients((entropy, log_partition), (self.target,))

    def call(self, measure: str, path: str) -> Callable[[], Outcome]:
        """The calls to time."""
        if path == "textbook":
            return partial(self.textbook, measure)
        return partial(self.package, measure, "fast" if path == "fast" else "portable")

    def textbook_rules(self, measure: str) -> int:
        """The number of rules that the textbook looks at; its time is proportional to it."""
        _, length, segments = self.size
        if measure == LEAVES:
            topologies = {textbook.topology_of(tree) for tree in self.tree_list}
            nodes = sum(len(textbook.nodes_of(topology)) for topology in topologies)
            return nodes * comb(length + 1, 3)
        return sum(
            length - first - second + 1
            for first in range(1, length)
            for second in range(1, length - first + 1)
            for first_segments in range(1, min(first, segments - 1) + 1)
            for _ in range(1, min(second, segments - first_segments) + 1)
        )


def check_agreement(measure: str, size: Size, outcomes: dict[str, Outcome]) -> dict[str, float]:
    """AssertionError unless all agree; otherwise how far each is from the fast path."""
    deviations = {}
    if measure == SAMPLE:  # draws differ; each must be a tree of the right size
        for path, (trees, _) in outcomes.items():
            if [tree.segments for tree in trees] != [size.segments] * size.batch:
                raise AssertionError(f"{path} drew trees of a wrong size at {size}")
        return {}
    reference_values, reference_gradients = outcomes["fast"]
    for path, (values, gradients) in outcomes.items():

        def message(text: str, path: str = path) -> str:
            return f"{measure} at {size}: {path} and fast disagree\n{text}"

        torch.testing.assert_close(values, reference_values, rtol=1e-4, atol=1e-5, msg=message)
        torch.testing.assert_close(
            gradients, reference_gradients, rtol=1e-3, atol=1e-4, msg=message
        )
        deviations[path] = max(
            float((value / reference - 1).abs().max())
            for value, reference in zip(values, reference_values, strict=True)
        )
    return deviations
