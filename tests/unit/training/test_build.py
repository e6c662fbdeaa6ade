"""Models of runs: random, pretrained with languages, and taken from earlier runs."""

import shutil
from dataclasses import asdict

import pytest
import torch
from tiny_models import every_family
from tiny_models import tiny_config as tiny_model_config
from tiny_runs import SIZE, tiny_bitexts, tiny_config
from tiny_tokenizers import multilingual, with_sentencepiece
from transformers import AutoModelForSeq2SeqLM, BartTokenizer

from btg_seq2seq.model.config import BTGSeq2SeqConfig
from btg_seq2seq.model.families import set_dropout
from btg_seq2seq.model.grammar_settings import GrammarSettings
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext, add_segment_tokens, load_tokenizer, train_tokenizer
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.training.build import build_model
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.files.checkpoints import load_weights, put_weights
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.config import ModelConfig, TokenizerConfig
from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.translation.translator import Translator


def bart_tokenizer():
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b", "Ġa", "Ġb", "Ġ"]
    vocabulary = {piece: row for row, piece in enumerate(pieces)}
    tokenizer = BartTokenizer(vocab=vocabulary, merges=[("Ġ", "a"), ("Ġ", "b")])
    add_segment_tokens(tokenizer)
    return tokenizer


def save_pretrained(directory, config, tokenizer):
    """A plain model of Hugging Face and its tokenizer, as one finds them on the hub."""
    config = tiny_model_config(config) if isinstance(config, str) else config
    AutoModelForSeq2SeqLM.from_config(config).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return str(directory)


def two_steps(
    directory, model, *, longer=(), metrics=None, too_long="skip", keep=1, quiet=True, **options
):
    config = tiny_config(directory, steps=2, batch_size=2, save_every=1, average_checkpoints=keep)
    config.tokenizer, config.model, config.data.too_long = TokenizerConfig(), model, too_long
    bitext = Bitext(
        ["a b a", "b a", "a a", *longer, "b b a"], ["b a b", "a b", "b b", *longer, "b a a"]
    )
    bitexts = Bitexts(bitext, bitext)
    return train(config, bitexts=bitexts, metrics=metrics, quiet=quiet, **options)


@pytest.mark.parametrize(
    ("family", "tokenizer", "source", "target"),
    [
        ("m2m_100", "nllb", "eng_Latn", "zul_Latn"),
        ("mbart", "mbart", "en_XX", "de_DE"),
        ("mbart-50", "mbart-50", "en_XX", "de_DE"),
    ],
)
def test_a_multilingual_model(tmp_path, family, tokenizer, source, target):
    path = save_pretrained(tmp_path / "pretrained", family, multilingual(tokenizer))
    languages = {"source_language": source, "target_language": target}
    result = two_steps(tmp_path / "run", ModelConfig(path, **languages, max_segments=2))
    # Prompt and labels together are what Hugging Face's tokenizer makes of the target.
    loaded, saved = load_tokenizer(tmp_path / "run"), BTGSeq2Seq.from_pretrained(tmp_path / "run")
    loaded.src_lang, loaded.tgt_lang = source, target
    code = loaded.convert_tokens_to_ids(target)
    assert code in saved.backbone.sentence_prompt()
    assert saved.backbone.sentence_prompt(reverse=True)[-1] == loaded.convert_tokens_to_ids(source)
    frames = Frames.of(loaded)
    assert {name: getattr(saved.config, name) for name in frames.settings} == frames.settings
    assert frames.settings["reverse_prefix"] + frames.settings["reverse_suffix"] != (
        frames.settings["prefix"] + frames.settings["suffix"]
    )
    assert result.metrics["loss"] > 0


@pytest.mark.parametrize("family", ["m2m_100", "mbart", "mbart-50"])
def test_languages_must_be_said(tmp_path, family):
    tokenizer = multilingual({"m2m_100": "nllb"}.get(family, family))
    path = save_pretrained(tmp_path / "pretrained", family, tokenizer)
    with pytest.raises(ValueError, match=r"model\.source_language and model\.target_language"):
        two_steps(tmp_path / "run", ModelConfig(path, max_segments=2))


@pytest.mark.parametrize("family", ["m2m_100", "marian"])
@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_tokenizers_of_sentencepiece(tmp_path, family):
    tokenizer = with_sentencepiece(family, tmp_path / "pretrained", ["a b"], ["b a"])
    config = tiny_model_config(family)
    config.vocab_size = config.decoder_vocab_size = len(tokenizer)
    if family == "marian":
        config.pad_token_id = config.decoder_start_token_id = tokenizer.pad_token_id
        config.eos_token_id, languages = tokenizer.eos_token_id, {}
    else:
        config.vocab_size += 108  # languages and unused rows, as on the hub
        config.decoder_start_token_id = tokenizer.eos_token_id
        languages = {"source_language": "en", "target_language": "de"}
    path = save_pretrained(tmp_path / "pretrained", config, tokenizer)
    two_steps(tmp_path / "run", ModelConfig(path, **languages, max_segments=2))
    translator = Translator.from_pretrained(tmp_path / "run")
    prompt = translator.model.backbone.sentence_prompt()
    assert translator.tokenizer.convert_ids_to_tokens(prompt) == (
        ["<pad>"] if family == "marian" else ["</s>", "__de__"]
    )
    # Python's tokenizers say nothing of where tokens are in the text: rules work all the same.
    (found,) = translator.translate(["a b a"], mode="cky", rules=[Rule("b", "a")])
    assert [phrase.target for phrase in found.derivation.phrases if phrase.source == "b"] == ["a"]


@pytest.mark.parametrize("family", ["t5", "mt5", "marian"])
def test_a_pretrained_model_for_two_languages(tmp_path, family):
    config = tiny_model_config(family)
    config.pad_token_id, config.eos_token_id, config.decoder_start_token_id = 0, 1, 0
    AutoModelForSeq2SeqLM.from_config(config).save_pretrained(tmp_path / "pretrained")
    train_tokenizer("word", ["a b"]).save_pretrained(tmp_path / "pretrained")
    model = ModelConfig(str(tmp_path / "pretrained"), max_segments=2)
    result = two_steps(tmp_path / "run", model)
    assert result.model.backbone.model.config.model_type == family
    assert result.metrics["loss"] > 0


def test_mt5_with_its_own_tokenizer(tmp_path, mt5):
    config = tiny_model_config("mt5")
    config.vocab_size = len(mt5) + 12  # unused rows, as on the hub
    config.pad_token_id, config.eos_token_id, config.decoder_start_token_id = 0, 1, 0
    path = save_pretrained(tmp_path / "pretrained", config, mt5)
    model = ModelConfig(path, max_segments=2)
    whole = two_steps(tmp_path / "run", model, keep=2)
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-2")
    resumed = two_steps(tmp_path / "run", model, keep=2, resume=True)
    assert resumed.history == whole.history
    translator = Translator.from_pretrained(tmp_path / "run")
    (found,) = translator.translate(["a ① b"], mode="cky", rules=[Rule("①", mode="keep")])
    assert "①" in found.text


def test_bart_whose_tokenizer_puts_a_token_before_sentences(tmp_path):
    path = save_pretrained(tmp_path / "pretrained", "bart", bart_tokenizer())
    result = two_steps(tmp_path / "run", ModelConfig(path, max_segments=2))
    assert (result.model.config.prefix, result.model.config.suffix) == ([0], [2])
    assert result.model.backbone.sentence_prompt() == (2, 0)


def test_sentences_longer_than_the_model_are_neither_trained_on_nor_measured(tmp_path):
    path = save_pretrained(tmp_path / "pretrained", "bart", bart_tokenizer())
    seen = []
    two_steps(
        tmp_path / "run",
        ModelConfig(path, max_segments=2),
        longer=[" ".join("ab" * 20)],  # of 24 positions
        metrics=lambda *given: seen.append(given[-1]) or {},
        too_long="keep",
    )
    assert {tuple(dev.source) for dev in seen} == {("a b a", "b a", "a a", "b b a")}


def test_a_run_resumes_without_the_model_that_it_began_with(tmp_path):
    path = save_pretrained(tmp_path / "pretrained", "bart", bart_tokenizer())
    model = ModelConfig(path, max_segments=2)
    whole = two_steps(tmp_path / "run", model, keep=2)
    shutil.rmtree(path)
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-2")
    resumed = two_steps(tmp_path / "run", model, keep=2, resume=True)
    assert resumed.averaged_steps == [1, 2]
    assert resumed.metrics == whole.metrics
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, resumed.model.state_dict()[name]), name


@every_family
def test_saved_weights_are_put_back_into_a_model(tmp_path, name):
    """In one file or several, with all names of those that are tied; and no others."""
    models = [BTGSeq2Seq.from_backbone(tiny_model_config(name)) for _ in range(3)]
    models[0].save_pretrained(tmp_path / "one")
    models[0].save_pretrained(tmp_path / "several", max_shard_size="20KB")
    for model, directory in zip(models[1:], ("one", "several"), strict=True):
        weights = load_weights(tmp_path / directory)
        put_weights(model, weights)
        for name, weight in models[0].state_dict().items():
            assert torch.equal(weight, model.state_dict()[name]), name
        first = weights.pop(next(iter(weights)))
        with pytest.raises(ValueError, match="1 are missing and 1 are unknown"):
            put_weights(model, weights | {"other": first})


@pytest.mark.parametrize(("spread", "low", "high"), [(None, 0.0, 0.4), (1.0, 0.8, 1.2)])
def test_how_far_positions_are_spread(spread, low, high):
    """Fresh weights of T5 have the deviation 1/8 at this width."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer("word", ["a b c"])
    size = {"hidden_size": 64, "layers": 1, "heads": 8}
    model = build_model(ModelConfig(**size, position_spread=spread), tokenizer)
    positions = [
        weight for name, weight in model.named_parameters() if "relative_attention" in name
    ]
    assert len(positions) == 2
    assert all(low < weight.std() < high for weight in positions)
    with pytest.raises(ValueError, match="position_spread must be more than 0, not 0"):
        ModelConfig(position_spread=0.0)


def test_languages_of_a_model_that_has_none(tmp_path):
    path = save_pretrained(tmp_path / "pretrained", "bart", bart_tokenizer())
    model = ModelConfig(path, source_language="de", target_language="en")
    with pytest.raises(ValueError, match="no language codes"):
        two_steps(tmp_path / "run", model)


def test_an_earlier_run_is_continued_with_fresh_parsers(tmp_path):
    first = train(tiny_config(tmp_path / "plain", flat=True, steps=2), bitexts=tiny_bitexts())
    tokenizer = load_tokenizer(tmp_path / "plain")
    config = ModelConfig(init_from=str(tmp_path / "plain"), max_segments=2)
    torch.manual_seed(5)
    model = build_model(config, tokenizer)
    assert model.config.max_segments == 2
    for name, weight in first.model.named_parameters():
        is_same = torch.equal(weight, model.get_parameter(name))
        assert is_same == name.startswith("backbone") or weight.abs().max() == 0, name


def test_a_plain_checkpoint_is_continued(tmp_path):
    path = save_pretrained(tmp_path / "pretrained", "bart", bart_tokenizer())
    result = two_steps(tmp_path / "run", ModelConfig(init_from=path, max_segments=2))
    assert result.model.backbone.model.config.model_type == "bart"


def dropout_of(model):
    return {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)}


@pytest.mark.parametrize(("dropout", "expected"), [(None, 0.25), (0.5, 0.5)])
def test_dropout_of_pretrained_models(tmp_path, dropout, expected):
    """It may be changed, and is saved: a resumed run must drop as much."""
    config = tiny_model_config("t5")
    config.dropout_rate = 0.25
    tokenizer = train_tokenizer("word", ["a b"])
    save_pretrained(tmp_path / "plain", config, tokenizer)
    given = ModelConfig(init_from=str(tmp_path / "plain"), dropout=dropout)
    model = build_model(given, tokenizer)
    assert dropout_of(model) == {expected}
    model.save_pretrained(tmp_path / "btg")
    assert dropout_of(BTGSeq2Seq.from_pretrained(tmp_path / "btg")) == {expected}
    given = ModelConfig(init_from=str(tmp_path / "btg"), dropout=dropout)
    assert dropout_of(build_model(given, tokenizer)) == {expected}


@every_family
def test_every_family_has_dropout(name):
    config = tiny_model_config(name)
    set_dropout(config, 0.75)
    loaded = type(config)(**config.to_diff_dict())
    assert getattr(loaded, "dropout_rate", getattr(loaded, "dropout", None)) == 0.75


def test_sizes_that_a_pretrained_model_brings_are_told_of(tmp_path, capsys):
    path = save_pretrained(tmp_path / "pretrained", "bart", bart_tokenizer())
    assert ModelConfig(layers=2).unused == []
    model = ModelConfig(path, max_segments=2, layers=2, dropout=0.1)
    assert model.unused == ["model.layers"]
    two_steps(tmp_path / "run", model, quiet=False)
    assert "not used, since the model has its own: model.layers" in capsys.readouterr().err


def test_a_model_that_is_not_there(tmp_path):
    tokenizer = bart_tokenizer()
    config = ModelConfig(init_from=str(tmp_path / "nowhere"), **SIZE)
    with pytest.raises(ValueError, match=r"nowhere.*there is no such directory"):
        build_model(config, tokenizer)


def test_models_of_runs_have_the_defaults_of_models():
    run, model = ModelConfig(), BTGSeq2SeqConfig()
    for name, value in asdict(GrammarSettings()).items():
        assert (getattr(run, name), getattr(model, name)) == (value, value), name
