"""The backbone gives what Hugging Face's own forward gives, for every family and attention."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import (
    RELATIVE,
    VOCABULARY,
    assert_near,
    batch_of,
    both_attentions,
    every_family,
    gradients,
    labels_for_hugging_face,
    tiny_backbone,
    tokens,
)

import btg_seq2seq.model.backbone as backbone_module
from btg_seq2seq.text.batches import IGNORED

# ---- to learn with --------------------------------------------------------------------------


@every_family
def test_attention_to_learn_with(name):
    backbone = tiny_backbone(name)
    backbone.choose_attention("cuda")
    assert backbone.model.config._attn_implementation == "sdpa"
    backbone.choose_attention("cpu")
    expected = "eager" if name in RELATIVE else "sdpa"
    assert backbone.model.config._attn_implementation == expected


# ---- equal to Hugging Face ------------------------------------------------------------------


@every_family
@both_attentions
@pytest.mark.parametrize("training", [False, True])
def test_equals_hugging_face(name, attention, training):
    backbone = tiny_backbone(name, attention).train(training)
    input_ids, mask, labels = batch_of(backbone)
    labels = labels_for_hugging_face(name, backbone, labels)
    # T5 would fill a cache for nothing, and round differently because of its memory layout.
    expected = backbone.model(
        input_ids=input_ids, attention_mask=mask, labels=labels, use_cache=False
    )
    expected.loss.backward()
    expected_gradients = gradients(backbone)
    backbone.zero_grad()

    states = backbone.encode(input_ids, mask)
    assert_near(states, expected.encoder_last_hidden_state)
    inputs = backbone.shift_right(labels, backbone.sentence_start)
    hidden = backbone.decode(inputs, states, mask)
    assert_near(backbone.logits(hidden), expected.logits)
    loss = -backbone.token_log_probs(hidden, labels).sum() / (labels != IGNORED).sum()
    assert_near(loss, expected.loss)
    loss.backward()
    for key, gradient in gradients(backbone).items():
        scale = max(1.0, float(expected_gradients[key].abs().max()))
        assert_near(gradient / scale, expected_gradients[key] / scale, 1e-5)
    assert sum(float(gradient.abs().sum()) > 0 for gradient in expected_gradients.values()) > 20


@every_family
def test_decode_labels_is_hugging_face_behind_the_prompt(name):
    backbone = tiny_backbone(name)
    input_ids, mask, labels = batch_of(backbone)
    own = labels_for_hugging_face(name, backbone, labels)
    expected = backbone.model(input_ids=input_ids, attention_mask=mask, labels=own).logits
    hidden = backbone.decode_labels(labels, backbone.encode(input_ids, mask), mask)
    first = len(backbone.prefix)
    for row, expected_row, row_labels in zip(
        backbone.logits(hidden), expected, labels, strict=True
    ):
        length = int((row_labels != IGNORED).sum())
        assert_near(row[:length], expected_row[first : first + length], 1e-5)


@every_family
@both_attentions
def test_masks_of_pairs_that_say_the_usual_change_nothing(name, attention):
    backbone = tiny_backbone(name, attention)
    input_ids, mask, labels = batch_of(backbone)
    inputs = backbone.shift_right(labels, backbone.sentence_prompt())
    states = backbone.encode(input_ids, mask)
    hidden = backbone.decode(inputs, states, mask)
    pairs = mask.bool()[:, None].expand(-1, input_ids.shape[1], -1)
    cross = mask.bool()[:, None].expand(-1, inputs.shape[1], -1)
    causal = torch.ones(1, inputs.shape[1], inputs.shape[1], dtype=torch.bool).tril()
    assert_near(backbone.encode(input_ids, pairs), states, 1e-5)
    assert_near(backbone.decode(inputs, states, cross, causal), hidden, 1e-5)


# ---- padding --------------------------------------------------------------------------------


@every_family
@settings(deadline=None, max_examples=8)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_padded_batch_equals_singletons(name, lengths, seed):
    backbone = tiny_backbone(name)
    input_ids, mask, labels = batch_of(backbone, lengths, seed)

    def run(input_ids, mask, labels):
        states = backbone.encode(input_ids, mask)
        hidden = backbone.decode_labels(labels, states, mask)
        return states, backbone.token_log_probs(hidden, labels)

    states, log_probs = run(input_ids, mask, labels)
    log_probs.sum().backward()
    together = gradients(backbone)
    backbone.zero_grad()
    for row, (source, target) in enumerate(lengths):
        alone = run(
            input_ids[row : row + 1, : source + 1],
            mask[row : row + 1, : source + 1],
            labels[row : row + 1, : target + 1],
        )
        assert_near(states[row, : source + 1], alone[0][0], 1e-5)
        assert_near(log_probs[row, : target + 1], alone[1][0], 1e-4)
        assert (log_probs[row, target + 1 :] == 0).all()
        alone[1].sum().backward()
    for key, gradient in gradients(backbone).items():
        scale = max(1.0, float(gradient.abs().max()))
        assert_near(together[key] / scale, gradient / scale, 1e-4)


@every_family
@both_attentions
def test_a_row_that_may_look_at_nothing_is_harmless(name, attention):
    backbone = tiny_backbone(name, attention)
    input_ids, mask, labels = batch_of(backbone)
    inputs = backbone.shift_right(labels, backbone.sentence_prompt())
    mask[1] = 0
    pairs = mask.bool()[:, :, None] & mask.bool()[:, None, :]
    cross = torch.zeros(3, inputs.shape[1], input_ids.shape[1], dtype=torch.bool)
    cross[0] = True
    own = cross[..., :1].expand(-1, -1, inputs.shape[1])
    for encoder_mask, cross_mask, self_mask in ((mask, mask, None), (pairs, cross, own)):
        backbone.zero_grad()
        hidden = backbone.decode(
            inputs, backbone.encode(input_ids, encoder_mask), cross_mask, self_mask
        )
        assert hidden.isfinite().all()
        hidden[0].sum().backward()
        assert all(gradient.isfinite().all() for gradient in gradients(backbone).values())


# ---- phrases side by side in one row ----------------------------------------------------------


def blocks_of(lengths, padding=0):
    numbers = [block for block, length in enumerate(lengths) for _ in range(length)]
    return torch.tensor([numbers + [-1] * padding])


def same_block(queries, keys):
    return (queries[:, :, None] == keys[:, None, :]) & (keys >= 0)[:, None, :]


@pytest.mark.parametrize("name", RELATIVE)
@both_attentions
@settings(deadline=None, max_examples=15)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4),
    padding=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_packed_phrases_equal_rows_of_their_own(name, attention, lengths, padding, seed):
    backbone = tiny_backbone(name, attention)
    backbone.add_segment_ids(38, 39)
    generator = torch.Generator().manual_seed(seed)
    sources = [torch.tensor([tokens(generator, source)]) for source, _ in lengths]
    targets = [torch.tensor([[*tokens(generator, target), 39]]) for _, target in lengths]
    inputs = [backbone.shift_right(target, backbone.phrase_prompt()) for target in targets]
    filler = torch.full((1, padding), backbone.pad)
    source_blocks = blocks_of([source for source, _ in lengths], padding)
    target_blocks = blocks_of([target + 1 for _, target in lengths], padding)

    states = backbone.encode(
        torch.cat([*sources, filler], 1), same_block(source_blocks, source_blocks)
    )
    hidden = backbone.decode(
        torch.cat([*inputs, filler], 1),
        states,
        same_block(target_blocks, source_blocks),
        same_block(target_blocks, target_blocks).tril(),
    )
    labels = torch.cat([*targets, torch.full((1, padding), IGNORED)], 1)
    packed = backbone.token_log_probs(hidden, labels)
    packed.sum().backward()
    packed_gradients = gradients(backbone)
    backbone.zero_grad()
    for block, (source, target) in enumerate(zip(sources, targets, strict=True)):
        mask = torch.ones_like(source)
        alone = backbone.encode(source, mask)
        assert_near(states[source_blocks == block], alone[0], 1e-5)
        row = backbone.token_log_probs(
            backbone.decode_labels(target, alone, mask, backbone.phrase_prompt()), target
        )
        assert_near(packed[target_blocks == block], row[0], 1e-5)
        row.sum().backward()
    for key, gradient in gradients(backbone).items():
        scale = max(1.0, float(gradient.abs().max()))
        assert_near(packed_gradients[key] / scale, gradient / scale, 1e-5)


@every_family
def test_relative_positions_are_declared_truly(name):
    """A phrase masked off behind another keeps its states exactly where positions are relative."""
    backbone = tiny_backbone(name)
    row = torch.tensor([[5, 6, 7, 8, 9]])
    blocks = blocks_of([2, 3])
    packed = backbone.encode(row, same_block(blocks, blocks))[:, 2:]
    alone = backbone.encode(row[:, 2:], torch.ones(1, 3))
    assert torch.allclose(packed, alone, atol=1e-5) == backbone.family.relative_positions
    assert backbone.family.relative_positions == (name in RELATIVE)


# ---- token probabilities ----------------------------------------------------------------------


@every_family
@pytest.mark.parametrize("piece", [VOCABULARY, 4 * VOCABULARY, 1])
def test_pieces_of_logits_change_nothing(name, piece, monkeypatch):
    backbone = tiny_backbone(name)
    hidden = torch.randn(2, 5, 16, requires_grad=True)
    labels = torch.tensor([[3, 4, IGNORED, 5, 6], [IGNORED, 7, 8, 9, 39]])
    expected = torch.log_softmax(backbone.logits(hidden), -1)
    expected = expected.gather(-1, labels.clamp(min=0)[..., None])[..., 0] * (labels != IGNORED)
    weights = torch.randn(2, 5)
    wanted = torch.autograd.grad(
        (weights * expected).sum(), [hidden, *backbone.parameters()][:2], allow_unused=True
    )
    monkeypatch.setattr(backbone_module, "KEPT_LOGITS", 0)
    monkeypatch.setattr(backbone_module, "PIECE_OF_LOGITS", piece)
    actual = backbone.token_log_probs(hidden, labels)
    assert_near(actual, expected, 1e-5)
    found = torch.autograd.grad(
        (weights * actual).sum(), [hidden, *backbone.parameters()][:2], allow_unused=True
    )
    assert_near(found[0], wanted[0], 1e-5)
    assert_near(found[1], wanted[1], 1e-5)
    with torch.no_grad():
        assert_near(backbone.token_log_probs(hidden, labels), expected.detach(), 1e-5)


def test_no_labels_at_all():
    backbone = tiny_backbone("t5")
    hidden = torch.randn(2, 3, 16, requires_grad=True)
    log_probs = backbone.token_log_probs(hidden, torch.full((2, 3), IGNORED))
    log_probs.sum().backward()
    assert (log_probs == 0).all()
    assert (hidden.grad == 0).all()


@every_family
@both_attentions
def test_autocast_keeps_probabilities_in_float32(name, attention):
    backbone = tiny_backbone(name, attention)
    input_ids, mask, labels = batch_of(backbone)
    inputs = backbone.shift_right(labels, backbone.sentence_prompt())
    labels = torch.cat([labels.new_full((3, len(backbone.prefix)), IGNORED), labels], 1)
    cross = mask.bool()[:, None].expand(-1, inputs.shape[1], -1)
    exact = backbone.token_log_probs(
        backbone.decode(inputs, backbone.encode(input_ids, mask), mask), labels
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = backbone.decode(inputs, backbone.encode(input_ids, mask), cross)
        log_probs = backbone.token_log_probs(hidden, labels)
    assert log_probs.dtype == torch.float32
    log_probs.sum().backward()
    assert all(gradient.isfinite().all() for gradient in gradients(backbone).values())
    assert (log_probs - exact).abs().mean() < 0.05 * exact.abs().mean()


@every_family
def test_weights_in_bfloat16(name):
    backbone = tiny_backbone(name).bfloat16()
    input_ids, mask, labels = batch_of(backbone)
    pairs = mask.bool()[:, None].expand(-1, input_ids.shape[1], -1)
    for attention in ("eager", "sdpa"):
        backbone.model.set_attn_implementation(attention)
        hidden = backbone.decode_labels(labels, backbone.encode(input_ids, pairs), mask)
        assert hidden.dtype == torch.bfloat16
        log_probs = backbone.token_log_probs(hidden, labels)
        assert log_probs.dtype == torch.float32
        expected = torch.log_softmax(backbone.logits(hidden).float(), -1)
        expected = expected.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        assert_near(log_probs, expected * (labels != IGNORED), 1e-5)


def test_a_copy_is_independent():
    backbone = tiny_backbone("bart")
    other = copy.deepcopy(backbone)
    other.add_segment_ids(30, 31)
    assert not backbone.has_segment_tokens


# ---- wrong input ------------------------------------------------------------------------------


def test_wrong_masks_are_named():
    backbone = tiny_backbone("t5")
    input_ids, mask, labels = batch_of(backbone)
    inputs = backbone.shift_right(labels, 0)
    states = backbone.encode(input_ids, mask)
    with pytest.raises(ValueError, match=r"attention_mask has shape \(3, 4\), not \[3, 8\] or"):
        backbone.encode(input_ids, mask[:, :4])
    with pytest.raises(ValueError, match=r"attention_mask.*boolean"):
        backbone.encode(input_ids, torch.zeros(3, 8, 8))
    with pytest.raises(ValueError, match=r"cross_mask has shape \(2, 8\)"):
        backbone.decode(inputs, states, mask[:2])
    with pytest.raises(ValueError, match=r"self_mask has shape \(3, 7\), not \[3, 7, 7\]"):
        backbone.decode(inputs, states, mask, inputs > 0)
    backbone.model.config._attn_implementation = "flash_attention_2"
    with pytest.raises(ValueError, match="set_attn_implementation"):
        backbone.encode(input_ids, torch.ones(3, 8, 8, dtype=torch.bool))


@pytest.mark.parametrize("name", ["bart", "mbart", "marian"])
def test_rows_longer_than_the_table_of_positions(name):
    backbone = tiny_backbone(name)
    row = torch.full((1, 24), 5)
    states = backbone.encode(row, torch.ones_like(row))
    longer = torch.full((1, 25), 5)
    with pytest.raises(ValueError, match=r"25 tokens, but this .* has 24 positions"):
        backbone.encode(longer, torch.ones_like(longer))
    with pytest.raises(ValueError, match="25 tokens"):
        backbone.decode(longer, states, torch.ones_like(row))


@pytest.mark.parametrize("name", [*RELATIVE, "m2m_100"])
def test_rows_of_any_length(name):
    row = torch.full((1, 60), 5)
    assert tiny_backbone(name).encode(row, torch.ones_like(row)).isfinite().all()
