"""How the two paths are chosen, compiled and cached, and where they must work."""

import logging
import os
import subprocess
import sys
import time

import pytest
import torch

from btg_seq2seq.grammar import LeafCRF, Tree, TreeCRF, splits
from btg_seq2seq.grammar.kernels import compiled
from btg_seq2seq.grammar.kernels.portable import PortableTreeProgram

PROGRAM = """
import logging, torch
logging.basicConfig()
torch.set_num_threads(1)
from btg_seq2seq.grammar import TreeCRF, splits
scores = torch.zeros(1, len(splits(4)), 2)
print(TreeCRF(scores, [4], [2]).log_partition.exp().item())
"""


def run(**environment):
    """A fresh process with nothing but what it needs from this one's environment."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    command = [sys.executable, "-B", "-c", PROGRAM]
    result = subprocess.run(command, env=kept | environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    # 3 splits, 2 orientations, a factor 2 for the leaf in second place
    assert float(result.stdout) == pytest.approx(12.0)
    return result.stderr


def test_a_second_process_finds_the_kernels_compiled(tmp_path):
    assert "Compiling" in run(NUMBA_CACHE_DIR=str(tmp_path))
    assert "Compiling" not in run(NUMBA_CACHE_DIR=str(tmp_path))


def test_a_kernel_that_cannot_be_kept_is_compiled_all_the_same(monkeypatch, caplog):
    def no_place(*_, cache=False, **options):
        def decorate(function):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return function

        return decorate

    monkeypatch.setattr(compiled, "njit", no_place)
    compiled._say_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert compiled.compile_kernel(len) is len
    assert "NUMBA_CACHE_DIR" in caplog.text


def test_a_slow_compilation_is_announced_once(monkeypatch, caplog):
    compiled._say_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        for kernel in (lambda *_: time.sleep(1.2), lambda *_: time.sleep(1.2), lambda *_: None):
            compiled.over_batch(kernel, 1, 1)
    assert caplog.text.count("Compiling") == 1


@pytest.mark.parametrize("value", ["portable", "fast", "auto"])
def test_the_environment_decides_for_auto(monkeypatch, value):
    monkeypatch.setenv("BTG_KERNELS", value)
    crf = TreeCRF(torch.zeros(1, 1, 2), [2], [2])
    assert isinstance(crf._program, PortableTreeProgram) == (value == "portable")
    chosen = TreeCRF(torch.zeros(1, 1, 2), [2], [2], kernels="portable")
    assert isinstance(chosen._program, PortableTreeProgram)


def test_unknown_kernels_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="quick"):
        TreeCRF(torch.zeros(1, 1, 2), [2], [2], kernels="quick")
    monkeypatch.setenv("BTG_KERNELS", "slow")
    with pytest.raises(ValueError, match="slow"):
        TreeCRF(torch.zeros(1, 1, 2), [2], [2])
    with pytest.raises(ValueError, match="bfloat16"):
        TreeCRF(torch.zeros(1, 1, 2, dtype=torch.bfloat16), [2], [2], kernels="fast")


@pytest.mark.parametrize("kernels", ["fast", "portable"])
def test_everything_works_in_inference_mode_and_after_it(kernels):
    length = 11 if kernels == "fast" else 12  # a length whose tables nothing has made yet
    scores = torch.randn(2, len(splits(length)), 2, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        inner = scores.clone()
        crf = TreeCRF(inner, torch.tensor([length, 5]), torch.tensor([3, 2]), kernels=kernels)
        early = [crf.marginals, crf.leaf_marginals(), crf.log_partition, crf.entropy]
        trees = crf.sample()
        crf.argmax, crf.rule_log_probs, crf.root_log_probs  # noqa: B018
        targets = LeafCRF(inner[..., 0], [length, 5], trees, kernels=kernels)
        targets.marginals, targets.sample(), targets.entropy
    after = TreeCRF(scores.requires_grad_(), [length, 5], [3, 2], kernels=kernels)
    late = [after.marginals, after.leaf_marginals(), after.log_partition, after.entropy]
    for expected, actual in zip(late, early, strict=True):
        torch.testing.assert_close(actual, expected.detach())
    (after.log_partition + after.entropy + after.log_prob(trees)).sum().backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("kernels", ["fast", "portable"])
def test_divergence_of_segmentations(kernels):
    trees = [Tree.parse("[0:1 <1:2 2:3>]")]
    generator = torch.Generator().manual_seed(0)
    first, second = (
        torch.randn(1, len(splits(5)), generator=generator, dtype=torch.float64) for _ in range(2)
    )
    one, two = (LeafCRF(scores, [5], trees, kernels=kernels) for scores in (first, second))
    every = [
        [[(0, a), (a, b), (b, 5)]] for a in range(1, 5) for b in range(a + 1, 5)
    ]  # three phrases
    expected = sum(one.log_prob(s).exp() * (one.log_prob(s) - two.log_prob(s)) for s in every)
    torch.testing.assert_close(one.kl(two), expected)
    other = LeafCRF(first, [5], [Tree.parse("[<0:1 1:2> 2:3]")], kernels=kernels)
    with pytest.raises(ValueError, match="trees of equal shape"):
        one.kl(other)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (torch.ones(2, 3), "shape"),
        (torch.tensor([[0.5, -0.5, 0.0]] * 3), "sentence 0"),
        (torch.tensor([[1.0, 0.0, 0.0], [0.0, torch.nan, 1.0], [1.0, 0.0, 0.0]]), "sentence 1"),
        (torch.tensor([[1.0, 0.0, 0.0]] * 3), "limit"),
    ],
)
def test_count_weights_are_checked(weights, message):
    crf = TreeCRF(torch.zeros(3, len(splits(6)), 2), [6, 5, 4], [3, 3, 3], max_phrase_length=2)
    with pytest.raises(ValueError, match=message):
        crf.leaf_marginals(weights)
