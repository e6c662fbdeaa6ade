"""The scorer against a definition with spans' own features, and what a backbone may hand it."""

import math
from copy import deepcopy

import pytest
import torch
from checks import assert_close, refused
from strategies import pad

from btg_seq2seq.grammar import TreeCRF, splits
from btg_seq2seq.model.scorer import SplitScorer


def naive_scores(scorer, states):
    """One sentence [tokens, hidden], one split at a time."""
    states = torch.nn.functional.layer_norm(states, states.shape[-1:])
    half = states.shape[1] // 2
    forward = [scorer.before, *states[:, :half]]
    backward = [*states[:, half:], scorer.behind]
    fenceposts = [torch.cat(halves) for halves in zip(forward, backward, strict=True)]
    matrices = scorer.projection.weight.chunk(3)
    rows = []
    for split in splits(len(states)).tolist():
        terms = [matrix @ fenceposts[at] for matrix, at in zip(matrices, split, strict=True)]
        rows.append(scorer.output @ (sum(terms) + scorer.bias).relu())
    return torch.stack(rows) if rows else states.new_zeros(0, len(scorer.output))


def random_states(lengths, hidden, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(length, hidden, generator=generator, dtype=torch.float64).to(dtype)
        for length in lengths
    ]


@pytest.fixture(params=["fast", "portable"])
def kernels(request, monkeypatch):
    monkeypatch.setenv("BTG_KERNELS", request.param)
    return request.param


@pytest.mark.parametrize(("hidden", "outputs", "width"), [(6, 2, 16), (7, 1, 5)])
def test_padded_batch_is_the_definition(kernels, hidden, outputs, width):
    """Values and gradients, for states with positions behind the longest sentence."""
    torch.manual_seed(0)
    scorer = SplitScorer(hidden, outputs, width).double()
    torch.nn.init.normal_(scorer.bias)
    lengths = [4, 1, 6, 2]
    sentences = [tensor.requires_grad_() for tensor in random_states(lengths, hidden)]
    further = [torch.cat([tensor, tensor.new_full((2, hidden), math.nan)]) for tensor in sentences]
    states = pad(further).requires_grad_()
    scores = scorer(states, torch.tensor(lengths))
    expected = [naive_scores(scorer, sentence) for sentence in sentences]
    for row, own in zip(scores, expected, strict=True):
        assert_close(row[: len(own)], own)
        assert (row[len(own) :] == 0).all()
    parameters = list(scorer.parameters())
    weights = torch.arange(scores.numel(), dtype=scores.dtype).view(scores.shape).sin()
    actual = torch.autograd.grad((scores * weights).sum(), [states, *parameters])
    total = sum((own * row[: len(own)]).sum() for own, row in zip(expected, weights, strict=True))
    options = {"allow_unused": True, "materialize_grads": True}  # one token has no splits
    own_gradients = torch.autograd.grad(total, [*sentences, *parameters], **options)
    for row, own in zip(actual[0], own_gradients, strict=False):
        assert_close(row[: len(own)], own)
        assert (row[len(own) :] == 0).all()
    for gradient, own in zip(actual[1:], own_gradients[len(lengths) :], strict=True):
        assert_close(gradient, own)


def test_spans_of_the_paper_are_a_special_case():
    """With matrices -A, A - B, B the hidden layer is A h_ij + B h_jk over difference features."""
    torch.manual_seed(0)
    scorer = SplitScorer(4, 1, 3).double()
    first, second = torch.randn(2, 3, 4, dtype=torch.float64)
    with torch.no_grad():
        scorer.projection.weight.copy_(torch.cat([-first, first - second, second]))
    (states,) = random_states([5], 4)
    normal = torch.nn.functional.layer_norm(states, (4,))
    forward = torch.cat([scorer.before[None], normal[:, :2]])  # index: tokens before the fencepost
    backward = torch.cat([normal[:, 2:], scorer.behind[None]])

    def span(i, j):
        return torch.cat([forward[j] - forward[i], backward[j] - backward[i]])

    expected = [
        scorer.output @ (first @ span(i, j) + second @ span(j, k)).relu()
        for i, j, k in splits(5).tolist()
    ]
    assert_close(scorer(states[None], [5])[0], torch.stack(expected))


@pytest.mark.parametrize("hidden", [32, 512])
@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e3])
def test_trees_start_near_uniform(hidden, scale):
    """Whatever the scale of the backbone's states."""
    torch.manual_seed(0)
    scorer = SplitScorer(hidden, 2)
    states = scale * (torch.randn(8, 12, hidden) + 0.5)
    scores = scorer(states, [12] * 8)
    assert 0.07 < scores.std(1).mean() < 0.13
    lengths, segments = [12] * 8, [4] * 8
    uniform = TreeCRF(torch.zeros_like(scores), lengths, segments)
    assert (uniform.kl(TreeCRF(scores, lengths, segments)) < 0.1).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("parameters", [torch.bfloat16, torch.float32])
def test_scores_are_single_precision(kernels, dtype, parameters):
    """Under autocast, from a backbone of any type, with weights cast along with it."""
    torch.manual_seed(0)
    scorer = SplitScorer(16, 2, 32).to(parameters)
    states = torch.stack(random_states([5, 5], 16, dtype=dtype)).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = scorer(states, [5, 4])
    assert scores.dtype == torch.float32
    exact = deepcopy(scorer).double()(states.detach().double(), [5, 4])
    torch.testing.assert_close(scores.double(), exact, rtol=1e-5, atol=1e-5)
    (gradient,) = torch.autograd.grad(scores.sum(), states)
    assert gradient.dtype == dtype


def test_new_weights_replace_old_ones():
    scorer = SplitScorer(8, 2)
    torch.manual_seed(1)
    scorer.reset_parameters()
    first = {name: value.clone() for name, value in scorer.state_dict().items()}
    torch.nn.init.ones_(scorer.output)
    torch.manual_seed(1)
    scorer.reset_parameters()
    assert all(torch.equal(value, first[name]) for name, value in scorer.state_dict().items())


@pytest.mark.parametrize("arguments", [(1, 2), (8, 3), (8, 0), (8, 2, 0)])
def test_impossible_sizes_are_refused(arguments):
    with refused("hidden size", "outputs", "width"):
        SplitScorer(*arguments)


def test_wrong_states_and_lengths_are_refused():
    scorer = SplitScorer(8, 2)
    with refused("states", "(2, 5, 7)"):
        scorer(torch.zeros(2, 5, 7), [5, 5])
    with refused("sentence 1", "6", "5"):
        scorer(torch.zeros(2, 5, 8), [5, 6])
    with refused("sentence 0", "between 1"):
        scorer(torch.zeros(2, 5, 8), [0, 5])
    with refused("2 integers"):
        scorer(torch.zeros(2, 5, 8), [5])
