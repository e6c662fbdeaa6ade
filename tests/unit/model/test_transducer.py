"""The model: what its passes say does not depend on padding, packing or being saved."""

import copy
import json
import pickle

import pytest
import torch
from decoding_models import tiny_model as tiny_model_of
from safetensors.torch import load_file, save_file
from tiny_models import VOCABULARY, tiny_config
from tiny_tokenizers import multilingual
from tiny_units import with_words
from tokenizers import Tokenizer, models
from transformers import AutoConfig, PreTrainedTokenizerFast

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import LeafCRF, TreeCRF
from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import add_segment_tokens, train_tokenizer
from btg_seq2seq.text.units import unit_table
from btg_seq2seq.training import BTGObjective

END = 1


def tiny_model(**settings):
    torch.manual_seed(0)
    config = default_config(40, hidden_size=32, layers=2, heads=4, dropout=0.0)
    model = BTGSeq2Seq.from_backbone(config, **settings)
    model.backbone.add_segment_ids(2, 3)
    return model.eval()


def batch(sources, targets):
    def padded(rows, value):
        rows = [torch.tensor([*row, END]) for row in rows]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)

    input_ids = padded(sources, 0)
    return {
        "input_ids": input_ids,
        "attention_mask": (input_ids != 0).long(),
        "labels": padded(targets, -100),
    }


SOURCES = [[10, 11, 12, 13], [20, 21, 22, 23, 24, 25], [14, 15]]
TARGETS = [[30, 31, 32], [33, 34, 35, 36, 37], [38, 39, 30, 31]]
CONTINUING = (11, 24, 25, 32, 35, 36)  # tokens that continue a word


def phrases_of(pair, segments):
    generator = torch.Generator().manual_seed(0)
    trees = TreeCRF(pair.posterior_scores, pair.source.units, segments).sample(generator)
    leaves = LeafCRF(pair.leaf_scores, pair.target.units, trees)
    return PhrasePairs.forward(trees, leaves.sample(generator))


@pytest.mark.parametrize(
    ("family", "name"), [("m2m_100", "nllb"), ("mbart", "mbart"), ("mbart-50", "mbart-50")]
)
def test_what_surrounds_a_sentence_is_asked_of_the_tokenizer(family, name):
    tokenizer = multilingual(name)
    config = tiny_config(family)
    config.vocab_size = len(tokenizer)
    model = BTGSeq2Seq.from_backbone(config, tokenizer)
    assert not model.backbone.lacks_language
    inputs = tokenizer(["a b"], return_tensors="pt")
    own = tokenizer("b b", add_special_tokens=False)["input_ids"]
    reading = model.read(**inputs, labels=torch.tensor([[*own, tokenizer.eos_token_id]]))
    words = tokenizer("a b", add_special_tokens=False)["input_ids"]
    assert reading.pair.source.tokens.tolist() == [words]
    assert reading.pair.target.tokens.tolist() == [own]
    framed = tokenizer(text_target=["b b"], return_tensors="pt")["input_ids"]
    with pytest.raises(ValueError, match=r"labels of sentence 0: .* remove it"):
        model.read(**inputs, labels=framed)
    if model.config.prefix:
        inputs["input_ids"][:, 0] = own[0]
        with pytest.raises(ValueError, match="input_ids of sentence 0: they must begin with"):
            model.read(**inputs, labels=torch.tensor([[*own, tokenizer.eos_token_id]]))


@pytest.mark.parametrize("continuing", [(), CONTINUING])
@pytest.mark.parametrize("phrase_encoding", ["alone", "sentence", "both"])
@pytest.mark.parametrize("reverse", [False, True])
def test_phrases_in_one_row_are_phrases_in_rows_of_their_own(phrase_encoding, reverse, continuing):
    model = tiny_model(phrase_encoding=phrase_encoding, suffix=[], reverse_suffix=[])
    model = with_words(model, continuing)
    model.config.suffix = [END]
    pair = model.read(**batch(SOURCES, TARGETS)).pair
    model.config.suffix = []  # by row, phrases have no frame either
    pairs = phrases_of(pair, [2, 2, 1])
    read, written = (pair.target, pair.source) if reverse else (pair.source, pair.target)
    pairs = pairs.reverse() if reverse else pairs
    packed = model.phrase_log_probs(pair, pairs, reverse=reverse)
    in_tokens = pairs.in_tokens(written, read)
    by_row = model._phrase_log_probs_by_row(pair, in_tokens, read, written, reverse)
    torch.testing.assert_close(packed, by_row)
    assert (packed[0] < 0).all()
    assert packed[2, 1:].eq(0).all()


@pytest.mark.parametrize("continuing", [(), CONTINUING])
def test_padded_batch_equals_singletons(continuing):
    model = with_words(tiny_model(), continuing)
    together = model.read(**batch(SOURCES, TARGETS))
    for index, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model.read(**batch([source], [target]))
        torch.testing.assert_close(together.flat_log_prob[index], alone.flat_log_prob[0])
        for name in ("prior_scores", "posterior_scores", "leaf_scores"):
            own = getattr(alone.pair, name)[0]
            torch.testing.assert_close(getattr(together.pair, name)[index, : len(own)], own)


def test_flat_likelihood_is_that_of_the_backbone():
    model, inputs = tiny_model(), batch(SOURCES, TARGETS)
    tokens = (inputs["labels"] != -100).sum()
    loss = model.backbone.model(**inputs).loss
    torch.testing.assert_close(-model.read(**inputs).flat_log_prob.sum() / tokens, loss)


def test_the_posterior_reads_the_target_and_the_prior_does_not():
    model = tiny_model(residual_posterior=False)
    first = model.read(**batch([SOURCES[0]], [TARGETS[0]])).pair
    second = model.read(**batch([SOURCES[0]], [TARGETS[1]])).pair
    torch.testing.assert_close(first.prior_scores, second.prior_scores)
    assert not torch.allclose(first.posterior_scores, second.posterior_scores)


def test_residual_posterior_gives_the_prior_no_gradient():
    model = tiny_model(residual_posterior=True)
    pair = model.read(**batch(SOURCES, TARGETS)).pair
    pair.posterior_scores.sum().backward()
    assert model.posterior.output.grad is not None
    assert model.prior.output.grad is None


def test_the_posterior_can_be_kept_from_training_the_reversed_pass():
    model = tiny_model(residual_posterior=False)
    learned = model.read(**batch(SOURCES, TARGETS)).pair.posterior_scores
    weight = model.backbone.model.shared.weight
    assert torch.autograd.grad(learned.sum(), weight)[0].any()
    kept = model.read(**batch(SOURCES, TARGETS), learns_reversed=False).pair.posterior_scores
    torch.testing.assert_close(kept, learned)
    kept.sum().backward()
    assert weight.grad is None
    assert model.posterior.output.grad.any()


def test_one_scorer_can_serve_all_parsers(tmp_path):
    model, inputs = tiny_model(share_scorers=True), batch(SOURCES, TARGETS)
    scorers = [name for name, _ in model.named_parameters() if not name.startswith("backbone")]
    assert {name.split(".")[0] for name in scorers} == {"prior"}
    pair = model.read(**inputs).pair
    assert pair.prior_scores.shape == pair.posterior_scores.shape
    assert pair.prior_scores.shape[-1] == 2
    assert not torch.allclose(pair.prior_scores, pair.posterior_scores)
    for scores in (pair.prior_scores, pair.posterior_scores, pair.leaf_scores):
        gradient = torch.autograd.grad(scores.sum(), model.prior.output, retain_graph=True)[0]
        assert gradient.any()
    model.save_pretrained(tmp_path)
    again = BTGSeq2Seq.from_pretrained(tmp_path).eval().read(**inputs).pair
    assert torch.equal(again.leaf_scores, pair.leaf_scores)
    assert torch.equal(again.posterior_scores, pair.posterior_scores)


def test_long_sentences_stay_out_of_the_grammar():
    model = tiny_model(max_grammar_length=5)
    reading = model.read(**batch(SOURCES, TARGETS))
    assert reading.rows.tolist() == [0, 2]
    assert reading.pair.source.lengths.tolist() == [4, 2]
    assert len(reading.flat_log_prob) == 3
    assert tiny_model(max_grammar_length=1).read(**batch(SOURCES, TARGETS)).pair is None


def test_an_empty_side_is_named():
    with pytest.raises(ValueError, match="sentence 1"):
        tiny_model().read(**batch([[10], []], [[30], [31]]))


def test_saved_and_loaded_again(tmp_path):
    model, inputs = tiny_model(max_segments=3, max_phrase_length=7), batch(SOURCES, TARGETS)
    model.save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    again = BTGSeq2Seq.from_pretrained(tmp_path).eval()
    assert (again.config.max_segments, again.config.max_phrase_length) == (3, 7)
    assert again.backbone.segment_start == model.backbone.segment_start
    expected, actual = model.read(**inputs), again.read(**inputs)
    assert torch.equal(expected.flat_log_prob, actual.flat_log_prob)
    assert torch.equal(expected.pair.posterior_scores, actual.pair.posterior_scores)
    wrapped = again.backbone.model
    assert wrapped.lm_head.weight is wrapped.shared.weight


@pytest.mark.parametrize("name", ["t5-unscaled", "mt5"])
def test_a_head_with_weights_of_its_own_stays_so(name, tmp_path):
    """Like T5 v1.1 and mT5, which transformers takes for tied wherever it looks again."""
    Backbone.load(tiny_config(name)).model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights["lm_head.weight"] = head = torch.randn_like(weights["shared.weight"])
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": False}))

    model = BTGSeq2Seq.from_backbone(tmp_path, scorer_width=4)
    for _ in range(2):  # saved, loaded and wrapped again, as with model.init_from
        assert torch.equal(model.backbone.model.lm_head.weight[: len(head)], head)
        model.save_pretrained(tmp_path / "saved")
        model = BTGSeq2Seq.from_pretrained(tmp_path / "saved")
        assert torch.equal(model.backbone.model.lm_head.weight[: len(head)], head)
        model.backbone.add_segment_ids(VOCABULARY, VOCABULARY + 1)  # the embeddings grow
        model = BTGSeq2Seq.from_backbone(model.backbone.model, scorer_width=4)
    wrapped = model.backbone.model
    assert wrapped.lm_head.weight.shape == wrapped.shared.weight.shape
    assert wrapped.encoder.embed_tokens.weight is wrapped.shared.weight
    assert wrapped.decoder.embed_tokens.weight is wrapped.shared.weight


def test_wrapping_a_model_leaves_its_weights_alone():
    config = default_config(40, hidden_size=32, layers=1, heads=2)
    backbone = BTGSeq2Seq.from_backbone(config).backbone.model
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    after = BTGSeq2Seq.from_backbone(backbone).backbone.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_absolute_positions_use_rows():
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        "bart",
        **{"vocab_size": 40, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1},
        **{"encoder_attention_heads": 2, "decoder_attention_heads": 2, "dropout": 0.0},
        **{"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 64},
        **{"pad_token_id": 0, "bos_token_id": 4, "eos_token_id": END, "decoder_start_token_id": 1},
    )
    model = BTGSeq2Seq.from_backbone(config).eval()
    model.backbone.add_segment_ids(2, 3)
    pair = model.read(**batch(SOURCES, TARGETS)).pair
    log_probs = model.phrase_log_probs(pair, phrases_of(pair, [2, 3, 1]))
    assert log_probs.shape == (3, 3)
    assert log_probs.isfinite().all()


def test_settings_are_checked():
    with pytest.raises(ValueError, match="phrase_encoding"):
        tiny_model(phrase_encoding="neither")
    with pytest.raises(ValueError, match="max_segments"):
        tiny_model(max_segments=0)


@pytest.mark.parametrize("name", ["t5", "mt5", "marian"])
def test_a_word_and_the_same_word_twice_are_different_phrases(name):
    """Relative positions alone cannot tell them apart: a mark says where a phrase ends."""
    model = tiny_model_of(name)
    tokens = torch.tensor([[5, 5, 5], [5, 5, 5], [5, 5, 5]])
    with torch.no_grad():
        states, mask = model.encode_alone(tokens, torch.tensor([1, 2, 3]))
        target = torch.tensor([[6, 7]]).expand(3, -1)
        scores = model.prefix_log_probs(target, states, mask)[:, -1].tolist()
    assert len({round(score, 3) for score in scores}) == 3


def test_every_model_has_an_objective_of_its_own():
    first, second = tiny_model(), tiny_model()
    assert first.objective is first.objective
    first.objective.step = 5
    assert second.objective.step is None
    chosen = second.objective = BTGObjective(seed=3)
    assert second.objective is chosen
    for copied in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert copied.objective.step == 5
        copied.objective.step = 6
        assert first.objective.step == 5


def test_a_tokenizer_without_segment_tokens_is_refused_at_once():
    words = Tokenizer(models.WordLevel({"<pad>": 0, "</s>": 1, "a": 2}, unk_token="</s>"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="</s>"
    )
    config = default_config(3, hidden_size=8, layers=1, heads=2)
    with pytest.raises(UserError, match=r"add_segment_tokens\(tokenizer\) first"):
        BTGSeq2Seq.from_backbone(config, tokenizer)
    add_segment_tokens(tokenizer)
    assert BTGSeq2Seq.from_backbone(config, tokenizer).backbone.has_segment_tokens


def test_gradients_of_a_padded_batch_with_units_are_those_of_singletons():
    model = with_words(tiny_model(), CONTINUING).double()
    names = ("prior_scores", "posterior_scores", "leaf_scores")

    def gradients(sources, targets):
        pair = model.read(**batch(sources, targets)).pair
        phrases = phrases_of(pair, [1] * len(sources))
        total = model.phrase_log_probs(pair, phrases).sum()
        total = total + sum(getattr(pair, name).square().sum() for name in names)
        return torch.autograd.grad(total, [*model.parameters()], allow_unused=True)

    # Scores of splits beyond the end of a sentence are zero.
    together = gradients(SOURCES, TARGETS)
    apart = [gradients([source], [target]) for source, target in zip(SOURCES, TARGETS, strict=True)]
    for gradient, *others in zip(together, *apart, strict=True):
        if gradient is not None:
            torch.testing.assert_close(gradient, sum(others))


def test_words_are_found_in_token_ids(tmp_path):
    tokenizer = train_tokenizer("bpe", ["the dog saw the dogs, it"] * 3, 300)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer).eval()
    assert torch.equal(model.unit_table[: len(tokenizer)], unit_table(tokenizer))
    labels = tokenizer(["it saw", "the dogs, the dog"], return_tensors="pt", padding=True)
    labels = labels["input_ids"].masked_fill(labels["attention_mask"] == 0, -100)
    inputs = tokenizer(["the dogs saw it", "a zebra,"], return_tensors="pt", padding=True)
    pair = model.read(**inputs, labels=labels).pair
    assert pair.source.units.tolist() == [4, 3]
    assert pair.target.units.tolist() == [2, 4]  # with "dogs," in one token
    assert pair.prior_scores.shape == (2, 10, 2)
    model.save_pretrained(tmp_path)
    again = BTGSeq2Seq.from_pretrained(tmp_path)
    assert again.config.units == "words"
    assert torch.equal(again.unit_table, model.unit_table)


def test_models_of_before_keep_tokens_as_units(tmp_path):
    model = with_words(tiny_model(), CONTINUING)
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["units"], config["written_by"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    weights = load_file(tmp_path / "model.safetensors")
    del weights["unit_table"]
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    old = BTGSeq2Seq.from_pretrained(tmp_path).eval()
    assert (old.config.units, old.unit_table) == ("tokens", None)
    pair = old.read(**batch(SOURCES, TARGETS)).pair
    assert torch.equal(pair.source.units, pair.source.lengths)


def test_words_need_a_tokenizer():
    assert tiny_model().config.units == "tokens"
    with pytest.raises(UserError, match="words are only known with a tokenizer"):
        tiny_model(units="words")
