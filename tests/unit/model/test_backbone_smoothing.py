"""Label smoothing: gradients of the smoothed loss, values of the plain one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import assert_near, batch_of, every_family, gradients, tiny_backbone

import btg_seq2seq.model.backbone as backbone_module
from btg_seq2seq.model.backbone import _LabelLogProbs
from btg_seq2seq.text.batches import IGNORED


def log_probs_of(backbone, input_ids, mask, labels):
    hidden = backbone.decode_labels(labels, backbone.encode(input_ids, mask), mask)
    return hidden, backbone.token_log_probs(hidden, labels)


def gradients_of(backbone, loss):
    backbone.zero_grad()
    loss.backward()
    return gradients(backbone)


@every_family
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_the_gradient_is_that_of_smoothed_cross_entropy(name, smoothing):
    backbone = tiny_backbone(name).train()
    batch = batch_of(backbone)
    plain = log_probs_of(backbone, *batch)[1].detach()
    backbone.label_smoothing = smoothing
    hidden, log_probs = log_probs_of(backbone, *batch)
    assert torch.equal(log_probs, plain)  # whatever is reported is not smoothed
    expected = torch.nn.functional.cross_entropy(
        backbone.logits(hidden).flatten(0, 1),
        batch[2].flatten(),
        ignore_index=IGNORED,
        label_smoothing=smoothing,
        reduction="sum",
    )
    expected = gradients_of(backbone, expected)
    for key, gradient in gradients_of(backbone, -log_probs_of(backbone, *batch)[1].sum()).items():
        assert_near(gradient, expected[key], 1e-4)


def test_only_training_is_smoothed():
    backbone = tiny_backbone("t5").eval()
    batch = batch_of(backbone)
    expected = gradients_of(backbone, log_probs_of(backbone, *batch)[1].sum())
    backbone.label_smoothing = 0.3
    for key, gradient in gradients_of(backbone, log_probs_of(backbone, *batch)[1].sum()).items():
        assert torch.equal(gradient, expected[key])
    backbone.train()
    smoothed = gradients_of(backbone, log_probs_of(backbone, *batch)[1].sum())
    assert any(not torch.equal(smoothed[key], expected[key]) for key in expected)


@settings(deadline=None, max_examples=8)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_padded_batch_equals_singletons(lengths, seed):
    backbone = tiny_backbone("t5").train()
    backbone.label_smoothing = 0.2
    input_ids, mask, labels = batch_of(backbone, lengths, seed)
    together = gradients_of(backbone, log_probs_of(backbone, input_ids, mask, labels)[1].sum())
    backbone.zero_grad()
    for row, (source, target) in enumerate(lengths):
        alone = (
            input_ids[row : row + 1, : source + 1],
            mask[row : row + 1, : source + 1],
            labels[row : row + 1, : target + 1],
        )
        log_probs_of(backbone, *alone)[1].sum().backward()
    for key, gradient in gradients(backbone).items():
        scale = max(1.0, float(gradient.abs().max()))
        assert_near(together[key] / scale, gradient / scale, 1e-4)


def test_the_gradient_in_double_precision():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 7, dtype=torch.double, generator=generator, requires_grad=True)
    targets = torch.tensor([0, 6, 3, 3, 1])
    assert torch.autograd.gradcheck(lambda given: _LabelLogProbs.apply(given, targets, 0.0), logits)

    def smoothed(given):
        log_probs = given.log_softmax(-1)
        return 0.9 * log_probs.gather(1, targets[:, None])[:, 0] + 0.1 * log_probs.mean(-1)

    weights = torch.randn(5, dtype=torch.double, generator=generator)
    (expected,) = torch.autograd.grad(smoothed(logits) @ weights, logits)
    (actual,) = torch.autograd.grad(_LabelLogProbs.apply(logits, targets, 0.1) @ weights, logits)
    assert_near(actual, expected, 1e-12)


def test_logits_that_are_computed_again_have_the_same_gradient(monkeypatch):
    backbone = tiny_backbone("t5").train()
    backbone.label_smoothing = 0.2
    batch = batch_of(backbone)
    expected = gradients_of(backbone, log_probs_of(backbone, *batch)[1].sum())
    monkeypatch.setattr(backbone_module, "KEPT_LOGITS", 1)
    monkeypatch.setattr(backbone_module, "PIECE_OF_LOGITS", 100)
    for key, gradient in gradients_of(backbone, log_probs_of(backbone, *batch)[1].sum()).items():
        assert_near(gradient, expected[key], 1e-5)


def test_in_bfloat16_the_loss_is_in_float32():
    backbone = tiny_backbone("t5").train()
    backbone.label_smoothing = 0.1
    batch = batch_of(backbone)
    expected = gradients_of(backbone, log_probs_of(backbone, *batch)[1].sum())
    with torch.autocast("cpu", torch.bfloat16):
        log_probs = log_probs_of(backbone, *batch)[1]
    assert log_probs.dtype == torch.float32
    for key, gradient in gradients_of(backbone, log_probs.sum()).items():
        assert gradient.isfinite().all()
        error = (gradient - expected[key]).norm() / expected[key].norm().clamp(min=1e-3)
        assert error < 0.2, key


def test_one_tensor_of_the_size_of_the_vocabulary_is_kept():
    """For the gradient; and no other is made with smoothing than without."""
    logits = torch.randn(64, 1000, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: kept.append(tensor.numel()) or tensor, lambda tensor: tensor
    ):
        _LabelLogProbs.apply(logits, torch.zeros(64, dtype=torch.long), 0.1)
    assert sum(size >= logits.numel() for size in kept) == 1
