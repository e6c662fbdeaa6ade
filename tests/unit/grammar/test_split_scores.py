"""Scores of all splits against the definition, one split at a time; both paths, and their edges."""

import pytest
import torch
from checks import assert_close, refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import pad

from btg_seq2seq.grammar import splits
from btg_seq2seq.grammar.packing import split_count
from btg_seq2seq.grammar.split_scores import split_scores

NAMES = ["left", "middle", "right", "output"]
both_kernels = pytest.mark.parametrize("kernels", ["fast", "portable"])


def naive_scores(left, middle, right, output):
    """The definition, one sentence [fenceposts, width] and one split at a time."""
    rows = [
        output @ (left[i] + middle[j] + right[k]).clamp(min=0)
        for i, j, k in splits(len(left) - 1).tolist()
    ]
    return torch.stack(rows) if rows else left[:0] @ output.t()


def random_tensors(lengths, width, outputs, seed=0, dtype=torch.float64):
    """Unpadded left, middle and right features of each sentence, and an output layer."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        values = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return values.to(dtype).requires_grad_()

    features = [[draw(length + 1, width) for length in lengths] for _ in range(3)]
    return features, draw(outputs, width)


def gradients(scores, inputs):
    """Of a sum in which each score has a weight of its own, so that no two can be swapped."""
    weights = torch.arange(scores.numel(), dtype=scores.dtype).view(scores.shape).sin()
    options = {"allow_unused": True, "materialize_grads": True}
    return torch.autograd.grad((weights * scores).sum(), inputs, **options)


shapes = st.tuples(
    st.lists(st.integers(1, 7), min_size=1, max_size=4),  # lengths
    st.sampled_from([1, 3, 15, 16, 17, 40]),  # width: the fast path takes 16 units at a time
    st.integers(1, 2),  # outputs
    st.integers(0, 2**32 - 1),  # seed
)


@both_kernels
@given(shapes)
def test_scores_and_gradients_are_those_of_the_definition(kernels, shape):
    """In a padded batch whose padding holds NaN and worse."""
    lengths, width, outputs, seed = shape
    features, output = random_tensors(lengths, width, outputs, seed)
    padded = [pad(sentences).requires_grad_() for sentences in features]
    scores = split_scores(*padded, output, lengths=torch.tensor(lengths), kernels=kernels)
    expected = [naive_scores(*parts, output) for parts in zip(*features, strict=True)]
    assert scores.shape == (len(lengths), split_count(max(lengths)), outputs)
    filled = torch.zeros_like(scores)
    for sentence, own in enumerate(expected):
        filled[sentence, : len(own)] = own
    assert_close(scores, filled)
    flat = [tensor for sentences in features for tensor in sentences]
    *of_padded, of_output = gradients(scores, [*padded, output])
    *of_own, expected_of_output = gradients(filled, [*flat, output])
    assert_close(of_output, expected_of_output)
    assert_close(torch.cat(of_padded), zero_padded(of_own, max(lengths) + 1))


def zero_padded(tensors, rows):
    result = tensors[0].new_zeros(len(tensors), rows, tensors[0].shape[1])
    for row, tensor in zip(result, tensors, strict=True):
        row[: len(tensor)] = tensor
    return result


@both_kernels
@pytest.mark.parametrize("outputs", [1, 2])
def test_gradcheck(kernels, outputs):
    features, output = random_tensors([4, 4], 5, outputs)
    inputs = [*(torch.stack(part).detach().requires_grad_() for part in features), output]
    for lengths in (None, [3, 4]):
        assert torch.autograd.gradcheck(
            lambda *tensors, own=lengths: split_scores(*tensors, own, kernels), inputs
        )


def test_gradgradcheck_of_the_portable_path():
    features, output = random_tensors([3], 3, 2)
    inputs = [*(torch.stack(part).detach().requires_grad_() for part in features), output]
    assert torch.autograd.gradgradcheck(
        lambda *tensors: split_scores(*tensors, kernels="portable"), inputs
    )


def test_the_fast_path_refuses_second_derivatives():
    features, output = random_tensors([3], 3, 2)
    scores = split_scores(*map(torch.stack, features), output, kernels="fast")
    (gradient,) = torch.autograd.grad(scores.square().sum(), output, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(gradient.square().sum(), output)


@both_kernels
def test_scores_without_gradients_come_before_scores_with_them(kernels):
    """A length that was met in inference mode first can be learned from later."""
    features, output = random_tensors([23], 3, 2)
    stacked = list(map(torch.stack, features))
    with torch.inference_mode():
        split_scores(*stacked, output, kernels=kernels)
    split_scores(*stacked, output, kernels=kernels).sum().backward()


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_paths_agree_at_the_size_of_a_sentence(outputs, dtype):
    lengths = [20, 11]
    features, output = random_tensors(lengths, 48, outputs, dtype=dtype)
    padded = [pad(sentences).requires_grad_() for sentences in features]
    results = []
    for kernels in ("fast", "portable"):
        scores = split_scores(*padded, output, lengths, kernels)
        assert scores.dtype == dtype
        results.append([scores, *gradients(scores, [*padded, output])])
    # The output's gradient adds up 1,500 numbers near 1, in another order: 1,500 roundings of 6e-8.
    tolerances = {"rtol": 1e-5, "atol": 1e-4} if dtype == torch.float32 else {}
    for fast, portable in zip(*results, strict=True):
        assert_close(fast, portable, **tolerances)


@both_kernels
def test_each_sentence_is_scored_as_if_it_were_alone(kernels):
    """To the last bit on the fast path, where nothing of a sentence depends on another."""
    lengths = [6, 1, 9, 2]
    features, output = random_tensors(lengths, 20, 2, dtype=torch.float32)
    together = split_scores(*map(pad, features), output, lengths, kernels)
    tolerances = {"rtol": 0.0, "atol": 0.0 if kernels == "fast" else 1e-5}
    for row, *parts in zip(together, *features, strict=True):
        alone = split_scores(*(part[None] for part in parts), output, kernels=kernels)[0]
        assert_close(row[: len(alone)], alone, **tolerances)


@both_kernels
@given(st.integers(0, 2**32 - 1), st.floats(0.5, 1.0))
def test_scores_without_a_gradient_are_left_out(kernels, seed, share):
    """A CRF with few leaves uses few splits; the fast path skips the rest of a row."""
    features, output = random_tensors([6, 6], 4, 2, seed)
    generator = torch.Generator().manual_seed(seed)
    inputs = [*(torch.stack(part).detach().requires_grad_() for part in features), output]
    scores = split_scores(*inputs, kernels=kernels)
    used = torch.rand(scores.shape, generator=generator) > share
    expected = torch.stack(
        [naive_scores(*parts, output) for parts in zip(*inputs[:3], strict=True)]
    )
    actual = torch.autograd.grad((scores * used).sum(), inputs)
    for gradient, own in zip(
        actual, torch.autograd.grad((expected * used).sum(), inputs), strict=True
    ):
        assert_close(gradient, own)


@both_kernels
def test_a_nan_in_the_sentence_is_not_hidden(kernels):
    """ReLU(NaN) is NaN: the CRF will refuse it by the sentence's number."""
    features, output = random_tensors([3], 4, 1)
    left, middle, right = map(torch.stack, features)
    left = left.detach()
    left[0, 0, 2] = torch.nan
    scores = split_scores(left, middle, right, output, kernels=kernels)[0, :, 0]
    assert torch.equal(scores.isnan(), splits(3)[:, 0] == 0)


@both_kernels
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_single_precision_whatever_comes_in(kernels, dtype):
    """Scores of rounded features, not rounded scores; the gradient has the features' type."""
    features, output = random_tensors([5], 32, 2, dtype=dtype)
    inputs = [*map(torch.stack, features), output]
    exact = [tensor.detach().double() for tensor in inputs]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = split_scores(*inputs, kernels=kernels)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(
        scores.double(), split_scores(*exact, kernels="portable"), rtol=1e-5, atol=1e-5
    )
    scores.sum().backward()
    assert all(tensor.grad.dtype == dtype for tensor in [*features[0], output])


@both_kernels
def test_one_token_has_no_splits(kernels):
    features, output = random_tensors([1, 1], 4, 2)
    inputs = [*map(torch.stack, features), output]
    scores = split_scores(*inputs, kernels=kernels)
    assert scores.shape == (2, 0, 2)
    assert all((gradient == 0).all() for gradient in gradients(scores, inputs))


def test_threads_share_a_batch():
    features, output = random_tensors([16, 16, 16, 16], 256, 2, dtype=torch.float32)
    inputs = [*map(torch.stack, features), output]
    threads, results = torch.get_num_threads(), []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            scores = split_scores(*inputs, kernels="fast")
            results.append([scores, *gradients(scores, inputs)])
    finally:
        torch.set_num_threads(threads)
    for alone, shared in zip(*results, strict=True):
        assert torch.equal(alone, shared)


def test_memory_stays_below_one_table_of_hidden_units():
    """What autograd keeps from forward to backward, on the portable path: the features alone."""
    length, width = 16, 8
    features, output = random_tensors([length], width, 2)
    kept = []

    def keep(tensor):
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        split_scores(*map(torch.stack, features), output, kernels="portable")
    assert max(kept) <= 2 * split_count(length)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("left", (2, 4)),
        ("left", (0, 4, 8)),
        ("left", (2, 1, 8)),
        ("middle", (2, 5, 8)),
        ("right", (1, 4, 8)),
        ("output", (3, 8)),
        ("output", (2, 7)),
        ("output", (8,)),
    ],
)
def test_wrong_shapes_are_refused(name, shape):
    inputs = dict.fromkeys(NAMES[:3], torch.zeros(2, 4, 8)) | {"output": torch.zeros(2, 8)}
    with refused(name, shape):
        split_scores(**{**inputs, name: torch.zeros(shape)})


@pytest.mark.parametrize(
    ("lengths", "words"),
    [([3, 4], ["sentence 1", "4"]), ([0, 3], ["sentence 0"]), ([3], ["2 integers"])],
)
def test_wrong_lengths_are_refused(lengths, words):
    with refused(*words):
        split_scores(*[torch.zeros(2, 4, 8)] * 3, torch.zeros(2, 8), lengths)
    with refused("integers"):
        split_scores(*[torch.zeros(2, 4, 8)] * 3, torch.zeros(2, 8), torch.tensor([1.0, 2.0]))
