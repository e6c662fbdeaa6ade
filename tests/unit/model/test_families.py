"""Families: one for every type of model, and how their models are loaded and saved."""

import json

import pytest
import torch
from tiny_models import (
    ABSOLUTE,
    RELATIVE,
    VOCABULARY,
    batch_of,
    every_family,
    tiny_backbone,
    tiny_config,
)
from transformers import (
    AutoModelForSeq2SeqLM,
    BertConfig,
    MarianConfig,
    PreTrainedConfig,
    PreTrainedModel,
    T5Config,
)

from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.model.families import (
    FAMILIES,
    Family,
    default_config,
    family_of,
    register_family,
    set_dropout,
)


def test_every_type_has_a_family():
    assert {tiny_config(name).model_type for name in RELATIVE + ABSOLUTE} == set(FAMILIES)
    assert family_of(tiny_config("mt5")) is FAMILIES["mt5"]


def test_a_type_has_one_family():
    register_family("t5", FAMILIES["t5"])  # again: nothing changes
    with pytest.raises(ValueError, match="another family for models of type 't5'"):
        register_family("t5", Family())


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_dropout_is_set_in_the_field_of_the_family(name):
    config = tiny_config(name)
    set_dropout(config, None)
    field = family_of(config).dropout_field
    assert getattr(config, field) == 0
    set_dropout(config, 0.25)
    assert getattr(config, field) == 0.25


def test_default_config():
    config = default_config(50, hidden_size=32, layers=2, heads=4, dropout=0.0)
    backbone = Backbone.load(config)
    assert backbone.family.relative_positions
    assert (backbone.vocabulary_size, backbone.hidden_size) == (50, 32)
    assert (backbone.pad, backbone.sentence_end, backbone.sentence_start) == (0, 1, 0)
    assert config.scale_decoder_outputs
    assert backbone.model.lm_head.weight is backbone.model.shared.weight
    assert backbone.model.get_decoder().embed_tokens.weight is backbone.model.shared.weight
    logits = backbone.logits(torch.randn(200, 32)).detach()
    assert 0.5 < float(logits.std()) < 2.0  # near uniform before training
    with pytest.raises(ValueError, match="multiple"):
        default_config(50, hidden_size=30, heads=4)


def test_random_weights_start_as_the_same_function_at_a_scale_that_adam_can_learn():
    """Every weight before the residual stream is scaled down, and the norms undo it."""
    size = {"vocab_size": 50, "d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2}
    models = []
    for is_small in (False, True):
        torch.manual_seed(0)
        backbone = Backbone.load(T5Config(**size, num_heads=2)).eval()
        if is_small:
            backbone.family.shrink_weights(backbone.model)
        models.append(backbone)
    usual, small = models
    torch.testing.assert_close(
        small.model.shared.weight, usual.model.shared.weight * 32**-0.5, rtol=1e-5, atol=1e-6
    )
    input_ids, mask, labels = batch_of(usual)
    logits = [
        model.logits(model.decode_labels(labels, model.encode(input_ids, mask), mask))
        for model in models
    ]
    torch.testing.assert_close(*logits, rtol=1e-2, atol=1e-3)  # the norms add 1e-6


def test_a_model_that_is_loaded_is_not_scaled_again(tmp_path):
    backbone = Backbone.load(default_config(50, hidden_size=32, layers=2, heads=4))
    backbone.family.shrink_weights(backbone.model)
    backbone.model.save_pretrained(tmp_path)
    loaded = Backbone.load(tmp_path)
    assert not loaded.model.config.scale_decoder_outputs
    for name, weight in backbone.model.state_dict().items():
        assert torch.equal(weight, loaded.model.state_dict()[name])


@every_family
def test_attention_and_activations_have_dropout_of_their_own(name):
    """Each kind alone makes the passes of training random; without, they are not."""
    backbone = tiny_backbone(name).train()
    input_ids, mask, labels = batch_of(backbone)

    def is_random():
        passes = [
            backbone.decode_labels(labels, backbone.encode(input_ids, mask), mask) for _ in "ab"
        ]
        return not torch.equal(*passes)

    for kind in (backbone.family.drop_attention, backbone.family.drop_activations):
        kind(backbone.model, None)
        assert not is_random()
        kind(backbone.model, 0.5)
        assert is_random()
        backbone.eval()
        assert not is_random()
        backbone.train()
        kind(backbone.model, 0.0)
    assert not is_random()


@every_family
def test_saved_and_loaded(name, tmp_path):
    backbone = tiny_backbone(name)
    backbone.add_segment_ids(VOCABULARY, VOCABULARY + 1)
    backbone.model.save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    input_ids, mask, labels = batch_of(backbone)
    expected = backbone.logits(
        backbone.decode_labels(labels, backbone.encode(input_ids, mask), mask)
    )
    for source in (
        tmp_path,
        str(tmp_path),
        backbone.model,
        AutoModelForSeq2SeqLM.from_pretrained(tmp_path),
    ):
        loaded = Backbone.load(source).eval()
        assert type(loaded.family) is type(backbone.family)
        for token in ("pad", "sentence_end", "segment_start", "segment_end"):
            assert getattr(loaded, token) == getattr(backbone, token)
        assert loaded.sentence_prompt() == backbone.sentence_prompt()
        assert loaded.phrase_prompt(reverse=True) == backbone.phrase_prompt(reverse=True)
        actual = loaded.logits(loaded.decode_labels(labels, loaded.encode(input_ids, mask), mask))
        assert torch.equal(actual, expected)
    assert Backbone.load(tmp_path, dtype=torch.bfloat16).model.dtype == torch.bfloat16


class HolderConfig(PreTrainedConfig):
    model_type = "holder-of-a-backbone"

    def __init__(self, backbone="t5", **kwargs):
        self.backbone = backbone
        super().__init__(**kwargs)


class Holder(PreTrainedModel):
    config_class = HolderConfig

    def __init__(self, config):
        super().__init__(config)
        self.backbone = Backbone.load(tiny_config(config.backbone))
        self.post_init()


@every_family
def test_saved_as_a_part_of_another_model(name, tmp_path):
    torch.manual_seed(3)
    holder = Holder(HolderConfig(name)).eval()
    holder.backbone.model.get_input_embeddings().weight.data.normal_()
    holder.save_pretrained(tmp_path)
    loaded, report = Holder.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    model = loaded.backbone.model
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert model.get_encoder().get_input_embeddings().weight is model.get_input_embeddings().weight
    input_ids, mask, labels = batch_of(loaded.backbone)
    expected, actual = (
        part.logits(part.decode_labels(labels, part.encode(input_ids, mask), mask, 5))
        for part in (holder.backbone, loaded.eval().backbone)
    )
    assert torch.equal(actual, expected)


def test_half_precision_checkpoints_are_loaded_in_float32(tmp_path):
    Backbone.load(tiny_config("t5")).model.bfloat16().save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "bfloat16"
    assert {weight.dtype for weight in Backbone.load(tmp_path).parameters()} == {torch.float32}


def test_types_that_cannot_serve(tmp_path):
    with pytest.raises(ValueError, match=r"'bert' cannot serve.*t5, mt5, bart, mbart, m2m_100"):
        Backbone.load(BertConfig())
    BertConfig().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=f"(?s){tmp_path.name}.*'bert' cannot serve"):
        Backbone.load(tmp_path)
    separate = MarianConfig(share_encoder_decoder_embeddings=False)
    with pytest.raises(ValueError, match="share_encoder_decoder_embeddings: true"):
        Backbone.load(separate)


def test_broken_directories(tmp_path):
    with pytest.raises(ValueError, match=r"nothing.here.*no such directory"):
        Backbone.load(tmp_path / "nothing here")
    with pytest.raises(ValueError, match=r"(?s)nothing.here.*config\.json and model\.safetensors"):
        Backbone.load(str(tmp_path / "nothing here"))
    tiny_config("t5").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        Backbone.load(tmp_path)
    model = Backbone.load(tiny_config("t5")).model
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")  # pickles are not read
    with pytest.raises(ValueError, match=r"how to convert pytorch_model\.bin"):
        Backbone.load(tmp_path)
    weights = model.state_dict()
    del weights["decoder.block.1.layer.0.SelfAttention.q.weight"]
    model.save_pretrained(tmp_path, state_dict=weights)
    with pytest.raises(ValueError, match=r"1 of its weights are missing.*decoder\.block\.1"):
        Backbone.load(tmp_path)
    complete = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(complete[: len(complete) // 2])
    with pytest.raises(ValueError, match=f"cannot load a model from .*{tmp_path.name}"):
        Backbone.load(tmp_path)
