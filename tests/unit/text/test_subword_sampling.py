"""Sampled tokens: the same text, the right distribution, and draws that depend on the line."""

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.text.subword_sampling import (
    BPESampler,
    UnigramSampler,
    subword_sampler,
)

CORPUS = [
    "the dog saw the other dog in the garden <seg> <0x41> of the gardener",
    "ᎠᏂᏴᏫ ᎤᏂᎪᎲᎩ ᎠᏂᏴᏫ ᎩᎵ ᎠᏂᏴᏫ",
    "在花园里看见了另一只狗 在花园里 在花园里看见",
] * 4
TEXTS = [*CORPUS[:3], "gardens 🙂 <0x41>x </s> ▁ ␛1 a\tb<c", "the\u00a0dog"]
SETTINGS = {"bpe": {"bpe_dropout": 0.5}, "unigram": {"unigram_alpha": 0.3}}


@pytest.fixture(scope="module")
def tokenizers():
    return {kind: train_tokenizer(kind, CORPUS, 420) for kind in SETTINGS}


def sampler_of(tokenizer, bpe_dropout=0.0, unigram_alpha=None):
    return subword_sampler(tokenizer, bpe_dropout, unigram_alpha)


@pytest.mark.parametrize("kind", SETTINGS)
def test_samples_spell_the_same_text_in_the_same_words(kind, tokenizers):
    tokenizer = tokenizers[kind]
    sampler = sampler_of(tokenizer, **SETTINGS[kind])
    starts = {token for piece, token in tokenizer.get_vocab().items() if piece.startswith("▁")}
    different = 0
    for text in TEXTS:
        own = tokenizer(text)["input_ids"]
        samples = {tuple(sampler(own, Random(seed))) for seed in range(20)}
        different += len(samples) - 1
        for sample in samples:
            assert tokenizer.decode(sample) == tokenizer.decode(own)
            assert sum(token in starts for token in sample) == sum(token in starts for token in own)
            assert sample[-1] == tokenizer.eos_token_id
    assert different > 0


@given(text=st.text())
def test_nothing_random_gives_the_tokens_of_the_tokenizer(tokenizers, text):
    own = tokenizers["bpe"](text)["input_ids"]
    sampler = sampler_of(tokenizers["bpe"], bpe_dropout=1e-12)
    assert sampler(own, Random(0)) == own
    own = tokenizers["unigram"](text)["input_ids"]
    sampler = sampler_of(tokenizers["unigram"], unigram_alpha=1000.0)
    drawn = sampler(own, Random(0))
    assert total_score(tokenizers["unigram"], drawn) == pytest.approx(
        total_score(tokenizers["unigram"], own), abs=0.05
    )


def total_score(tokenizer, tokens):
    sampler = sampler_of(tokenizer, unigram_alpha=1.0)
    return sum(sampler.scores.get(sampler.pieces[token], 0.0) for token in tokens)


def test_everything_dropped_leaves_characters(tokenizers):
    tokenizer = tokenizers["bpe"]
    sampler = sampler_of(tokenizer, bpe_dropout=1.0)
    tokens = sampler(tokenizer("the dog")["input_ids"], Random(0))
    assert tokenizer.convert_ids_to_tokens(tokens) == [*"▁the▁dog", "</s>"]


def test_bpe_dropout_has_the_probabilities_of_the_algorithm():
    """At every turn, each merge that is possible is left out with probability p."""
    pieces = dict(enumerate(["a", "b", "c", "ab", "bc", "abc"]))
    sampler = BPESampler(pieces, frozenset(), [("a", "b"), ("b", "c"), ("ab", "c")], 0.3)
    counts = Counter(tuple(sampler.sample_word("abc", Random(seed))) for seed in range(20_000))
    keep, drop = 0.7, 0.3
    expected = {
        ("abc",): keep * keep,  # a + b first, then ab + c; no merge joins a and bc
        ("ab", "c"): keep * drop,
        ("a", "bc"): drop * keep,
        ("a", "b", "c"): drop * drop,
    }
    assert counts.keys() == expected.keys()
    for sample, probability in expected.items():
        assert counts[sample] / 20_000 == pytest.approx(probability, abs=0.015)


def test_unigram_samples_have_the_probabilities_of_the_model():
    scores = {"a": -1.0, "b": -1.5, "c": -0.5, "ab": -2.0, "bc": -3.0, "abc": -4.0, "<x>": 0.0}
    sampler = UnigramSampler(dict(enumerate(scores)), frozenset({"<x>"}), scores, 0.5)
    ways = [("a", "b", "c"), ("ab", "c"), ("a", "bc"), ("abc",)]
    weights = {way: math.exp(0.5 * sum(map(scores.__getitem__, way))) for way in ways}
    counts = Counter(tuple(sampler.sample_word("abc", Random(seed))) for seed in range(20_000))
    assert counts.keys() == weights.keys()
    for way, weight in weights.items():
        share = weight / sum(weights.values())
        assert counts[way] / 20_000 == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("word", {"bpe_dropout": 0.1}, "tokenizer.bpe_dropout needs a BPE tokenizer"),
        ("unigram", {"bpe_dropout": 0.1}, "this one is Unigram"),
        ("bpe", {"unigram_alpha": 0.1}, "tokenizer.unigram_alpha needs a Unigram tokenizer"),
    ],
)
def test_settings_that_do_not_fit_the_tokenizer(kind, settings, message):
    tokenizer = train_tokenizer(kind, CORPUS, None if kind == "word" else 420)
    with pytest.raises(ValueError, match=message):
        sampler_of(tokenizer, **settings)


def test_no_settings_no_sampler(tokenizers):
    assert sampler_of(tokenizers["bpe"]) is None
