"""Which places in trees exchange phrases, and where a phrase must not begin."""

from collections import Counter
from random import Random

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from btg_seq2seq.recombination.slots import Partners, continuing_tokens, overlaps
from btg_seq2seq.text import train_tokenizer


def test_rare_phrases_stay_where_rare_is_usual():
    pairs = {"[1": {sentence: ((sentence,), (sentence,)) for sentence in range(9)}}
    pairs["[1"][9] = ((8,), (8,))
    assert len(Partners(pairs, 0.25, 0.2).sentences["[1"]) == 10


def test_overlap_is_morisitas_index():
    random = Random(0)
    population = [((number,), (number,)) for number in range(40)]
    others = [((number,), (number + 1,)) for number in range(40)]
    counts = {
        "[1": Counter(random.choices(population, k=300)),
        "[2": Counter(random.choices(population, k=60)),
        "<1": Counter(random.choices(population[:20] + others[:20], k=300)),
        "<2": Counter(random.choices(others, k=300)),
    }
    found = overlaps(counts)
    assert found["[1", "[2"] == pytest.approx(1, abs=0.15)
    assert found["<1", "[1"] == pytest.approx(0.5, abs=0.15)
    assert ("<2", "[1") not in found


def test_which_tokens_continue_a_word():
    def names(tokenizer):
        return {tokenizer.convert_ids_to_tokens(token) for token in continuing_tokens(tokenizer)}

    assert names(train_tokenizer("word", ["a house, 12"])) == set()
    found = names(train_tokenizer("bpe", ["a house, 12 犬が好き"] * 5, 400))
    assert "<0x41>" in found
    assert {"o", "2"} <= found
    assert found.isdisjoint({"▁house", ",", "が", "好", "</s>", "<seg>"})
    # Any letter of Thai may begin a phrase, but no mark on a letter; the same for rules.
    thai = names(train_tokenizer("bpe", ["ที่ น"] * 5, 400))
    assert ("\u0e35" in thai, "น" in thai) == (True, False)
    pieces = {"[UNK]": 0, "house": 1, "##s": 2, "犬": 3}
    word_pieces = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    word_pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=word_pieces, unk_token="[UNK]")
    assert names(fast) == {"##s"}


def test_byte_tokens_without_word_starts_are_refused():
    with pytest.raises(ValueError, match="do not say where words begin"):
        continuing_tokens(ByT5Tokenizer())
