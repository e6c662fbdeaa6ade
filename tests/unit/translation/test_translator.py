"""Translations of texts: whatever the weights and the input, every word has an origin."""

import math

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_translators import (
    SHORT,
    TEXTS,
    check_obedience,
    check_provenance,
    every_kind,
    same,
    tokenizer_of,
    translator_of,
)
from transformers import MarianConfig
from transformers.utils import logging

from btg_seq2seq import BTGSeq2Seq, Rule, Translator
from btg_seq2seq.console.arguments import check_length
from btg_seq2seq.decoding.flat import decode_flat
from btg_seq2seq.model.families import default_config
from btg_seq2seq.translation.inputs import SentenceLengthError
from btg_seq2seq.translation.rules.rules import RuleSet


@every_kind
@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_every_word_has_an_origin(kind, mode):
    translations = translator_of(kind).translate(TEXTS, mode, nbest=3)
    assert [translation.source for translation in translations] == TEXTS
    for translation in translations:
        check_provenance(translation)
        assert translation.mode == mode
        assert translation.fallback is None
        texts = [translation.text, *(one.text for one in translation.alternatives)]
        assert len(set(texts)) == len(texts) <= 3
        log_probs = [translation.log_prob, *(one.log_prob for one in translation.alternatives)]
        assert log_probs == sorted(log_probs, reverse=True)
        if translation.source:
            assert sum(translation.segment_posterior) == pytest.approx(1)


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_neighbours_change_nothing(mode):
    translator = translator_of("bpe")
    together = translator.translate(TEXTS, mode)
    for text, translation in zip(TEXTS, together, strict=True):
        same(translator.translate([text], mode)[0], translation)


@every_kind
def test_flat_is_what_the_decoder_says(kind):
    translator = translator_of(kind)
    (found,) = decode_flat(translator.phrases(translator.read(["the dog saw"]), SHORT), 3)
    translation = translator.translate(["the dog saw"])[0]
    by_text = {}
    for one in found:
        text = translator.tokenizer.decode(one.tokens, skip_special_tokens=True).strip()
        by_text[text] = by_text.get(text, 0.0) + math.exp(one.log_prob)
    assert translation.text == max(by_text, key=by_text.get)
    assert translation.log_prob == pytest.approx(math.log(by_text[translation.text]))


def test_as_many_texts_as_wanted():
    """Strings that read the same do not take the places of other texts."""
    translator = translator_of("unigram")
    for text in ("the dog saw", "das Haus ist klein", "in the garden"):
        (found,) = translator.translate([text], "cky", nbest=3)
        assert len({found.text, *(one.text for one in found.alternatives)}) == 3


def test_sentences_come_in_lists():
    translator = translator_of("word")
    for call in (
        lambda: translator.translate("the dog"),
        lambda: translator.prepare("the dog"),
        lambda: translator.score("it", "it"),
        lambda: translator.align(["it"], "it"),
    ):
        with pytest.raises(ValueError, match="list"):
            call()
    for call in (translator.score, translator.align):
        with pytest.raises(ValueError, match="2 sources, but 1 targets"):
            call(["it", "it"], ["it"])


# ---- what if -------------------------------------------------------------------------------


# ---- hard input ----------------------------------------------------------------------------

HARD = [
    "",
    " \t",
    "x",
    "a\x00b\x07 \x1b",
    "ᎠᏂᏴᏫ ᎤᎵᎮᎵᏍᏗ",
    "🙂 👍🏽",
    "\u0301",
    "<s> </s> <seg> <0x41>",
]


@every_kind
@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_hard_input(kind, mode):
    for translation in translator_of(kind).translate(HARD, mode, max_output_ratio=0.2):
        check_provenance(translation)


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_weights_that_are_not_numbers(mode):
    tokenizer = tokenizer_of("word")
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3)
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(math.nan)
    (translation, _) = Translator(model, tokenizer, SHORT).translate(["the dog", ""], mode)
    assert (translation.text, translation.log_prob) == ("", -math.inf)
    assert translation.fallback == "the decoder found no translation"


def test_no_warning_without_a_beam(caplog):
    verbosity = logging.get_verbosity()
    logging.set_verbosity_warning()
    logging.enable_propagation()
    translator = translator_of("word")
    translator.model.backbone.model.generation_config.max_length = 200  # as of mBART
    try:
        translator.translate(["it"], beam_size=1)
    finally:
        logging.disable_propagation()
        logging.set_verbosity(verbosity)
    assert caplog.records == []


def test_absolute_positions():
    tokenizer = tokenizer_of("bpe")
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=len(tokenizer),
        decoder_vocab_size=len(tokenizer),
        d_model=16,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        **{f"{side}_layers": 1 for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": 16 for side in ("encoder", "decoder")},
    )
    translator = Translator(BTGSeq2Seq.from_backbone(config, tokenizer), tokenizer, SHORT)
    rules = [Rule("dog", "cat")]
    (translation,) = translator.translate(["the dog saw it"], rules=rules)
    check_provenance(translation)
    check_obedience(rules, translation)
    message = r"^sentence 1: it has 40 tokens, but the model reads no more than 32; split it: 'the"
    with pytest.raises(ValueError, match=message):
        translator.translate(["the", "the " * 40])
    # Cutting tokens would make the sentence too long: it is not done, and that is said.
    assert "▁dog," in tokenizer.get_vocab()
    (translation,) = translator.translate(["dog, " * 28], rules=RuleSet(rules))
    assert len(translation.notices) == 1  # once, however often the rule matches
    assert translation.notices[0] == (
        "rule 'dog' -> 'cat' is not obeyed: with 'dog' cut out of its tokens, the sentence is "
        "longer than the 31 tokens that the model reads"
    )
    for target in ["the " * 40, [translator.writer.encode_sentence("the " * 40)]]:
        with pytest.raises(
            SentenceLengthError, match=r"^sentence 1: its translation has 40 .* 31$"
        ):
            translator.score(["the", "the"], ["the", target])
    check_length(translator, "the", "in.txt: line 1")
    with pytest.raises(ValueError, match=r"^in\.txt: line 2: it has 40 tokens"):
        check_length(translator, "the " * 40, "in.txt: line 2")


def test_what_is_refused(tmp_path):
    translator = translator_of("word")
    with pytest.raises(ValueError, match="flat translation cannot obey rules"):
        translator.translate(["it"], "flat", [Rule("it", "x")])
    with pytest.raises(ValueError, match="nbest=9 must lie between 1 and beam_size=3"):
        translator.translate(["it"], nbest=9)
    with pytest.raises(ValueError, match="mode is flat, cky or rescored, not 'fast'"):
        translator.translate(["it"], "fast")
    with pytest.raises(ValueError, match="holds no model"):
        Translator.from_pretrained(tmp_path)


def test_saved_and_loaded(tmp_path):
    translator = translator_of("bpe")
    translator.model.save_pretrained(tmp_path)
    translator.tokenizer.save_pretrained(tmp_path)
    again = Translator.from_pretrained(tmp_path, SHORT)
    assert again.translate(TEXTS, "cky") == translator.translate(TEXTS, "cky")
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if not name.startswith("prior")}
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    incomplete = r"incomplete: \d of its weights are missing, such as prior"
    with pytest.raises(ValueError, match=incomplete):
        Translator.from_pretrained(tmp_path, verify=False)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ValueError, match="cannot load a model"):
        Translator.from_pretrained(tmp_path, verify=False)
