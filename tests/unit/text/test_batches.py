"""Encoded bitext and padded batches: what is in them, what is left out, and that it is said."""

import itertools
import pickle

import pytest
import torch
from torch.utils.data import DataLoader

from btg_seq2seq.text import Bitext, BucketSampler, Collator, encode_bitext, train_tokenizer
from btg_seq2seq.text import batches as batches_module
from btg_seq2seq.text.batches import parts_of

SOURCE = ["das Haus", "", "ja", "ein Wort  ist kein Satz", "leer", " \t "]
TARGET = ["the house", "nothing", "yes", "one word is no sentence", "", "blank"]
TREES = ["[0:1 1:2]", "", "0:1", "<0:2 2:5>", "0:1", ""]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer("word", SOURCE + TARGET)


@pytest.fixture
def bitext():
    return Bitext(SOURCE, TARGET, name="train")


def test_pairs_with_an_empty_side_are_skipped_and_counted(bitext, tokenizer):
    data = encode_bitext(bitext, tokenizer)
    assert len(data) == 3
    assert [example["index"] for example in data] == [0, 2, 3]
    assert data.empty == [1, 4, 5]
    assert data.too_long == []
    assert data.lengths.tolist() == [[3, 3], [2, 2], [6, 6]]
    assert data.summary() == "train: 3 of 6 pairs, 3 skipped with an empty side (lines 2, 5, 6)"
    for example in data:
        assert set(example) == {"input_ids", "labels", "index"}
        source, target = SOURCE[example["index"]], TARGET[example["index"]]
        assert example["input_ids"] == tokenizer(source).input_ids
        assert example["labels"] == tokenizer(target).input_ids
    assert data[-1] == data[2]
    with pytest.raises(IndexError):
        data[3]


def test_trees_stay_with_their_sentences(tokenizer):
    data = encode_bitext(Bitext(SOURCE, TARGET, TREES), tokenizer)
    assert [example["tree"] for example in data] == [TREES[0], TREES[2], TREES[3]]
    assert pickle.loads(pickle.dumps(data))[2] == data[2]  # what worker processes get


@pytest.mark.parametrize(("count", "sizes"), [(1, [3]), (2, [2, 1]), (5, [1, 1, 1])])
def test_the_parts_of_a_batch_have_no_padding_that_they_share(tokenizer, count, sizes):
    data = encode_bitext(Bitext(SOURCE, TARGET, TREES), tokenizer)
    collate = Collator(tokenizer.pad_token_id)
    parts = parts_of(collate(list(data)), count)
    assert [len(part["input_ids"]) for part in parts] == sizes
    stops = list(itertools.accumulate(sizes))
    order = range(3) if count == 1 else sorted(range(3), key=lambda row: len(data[row]["labels"]))
    assert count == 1 or list(order) != [0, 1, 2]  # short targets first
    for stop, size, part in zip(stops, sizes, parts, strict=True):
        expected = collate([data[row] for row in order[stop - size : stop]])
        assert part.keys() == expected.keys()
        for name, value in expected.items():
            assert part[name] == value if name == "trees" else torch.equal(part[name], value)


def test_lines_that_are_too_long(bitext, tokenizer):
    with pytest.raises(ValueError, match="train: line 4 has 6 tokens, more than max_length=5"):
        encode_bitext(bitext, tokenizer, max_length=5)
    skipped = encode_bitext(bitext, tokenizer, max_length=5, on_too_long="skip")
    assert (len(skipped), skipped.too_long) == (2, [3])
    assert skipped.summary().endswith("1 skipped with more than 5 tokens (line 4)")
    kept = encode_bitext(bitext, tokenizer, max_length=5, on_too_long="keep")
    assert (len(kept), kept.too_long) == (3, [3])
    assert kept.summary().endswith("1 kept with more than 5 tokens (line 4)")
    assert encode_bitext(bitext, tokenizer, max_length=6).too_long == []
    with pytest.raises(ValueError, match="not 'truncate'"):
        encode_bitext(bitext, tokenizer, on_too_long="truncate")


def test_one_long_side_is_enough(tokenizer):
    for bitext in (Bitext(["ja"], [TARGET[3]]), Bitext([SOURCE[3]], ["yes"])):
        with pytest.raises(ValueError, match="line 1 has 6 tokens"):
            encode_bitext(bitext, tokenizer, max_length=5)


def test_nothing_left_is_an_error(tokenizer):
    with pytest.raises(
        ValueError, match=r"no sentence pairs are left: mine: 0 of 1 pairs, 1 skipped"
    ):
        encode_bitext(Bitext(["ja"], [" "], name="mine"), tokenizer)


def test_many_lines_are_encoded_in_parts(bitext, tokenizer, monkeypatch):
    whole = encode_bitext(bitext, tokenizer, max_length=5, on_too_long="keep")
    monkeypatch.setattr(batches_module, "LINES_A_CALL", 2)
    parts = encode_bitext(bitext, tokenizer, max_length=5, on_too_long="keep")
    assert list(parts) == list(whole)
    assert (parts.empty, parts.too_long) == (whole.empty, whole.too_long)


def test_collator_pads():
    examples = [
        {"input_ids": [5, 6, 1], "labels": [7, 1], "index": 4},
        {"input_ids": [5, 1], "labels": [8, 9, 9, 1], "index": 2},
    ]
    batch = Collator(pad_token_id=0)(examples)
    assert set(batch) == {"input_ids", "attention_mask", "labels", "index"}
    assert batch["input_ids"].tolist() == [[5, 6, 1], [5, 1, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch["labels"].tolist() == [[7, 1, -100, -100], [8, 9, 9, 1]]
    assert batch["index"].tolist() == [4, 2]
    assert all(tensor.dtype == torch.long for tensor in batch.values())


def test_collator_masks_by_length_not_by_value():
    batch = Collator(pad_token_id=1)([{"input_ids": [5, 1, 6, 1]}, {"input_ids": [1]}])
    assert set(batch) == {"input_ids", "attention_mask"}
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("workers", [0, 1])
def test_all_together(tokenizer, workers):
    data = encode_bitext(Bitext(SOURCE, TARGET, TREES), tokenizer)
    sampler = BucketSampler(data.lengths, batch_size=2, seed=1)
    loader = DataLoader(
        data,
        batch_sampler=sampler,
        collate_fn=Collator(tokenizer.pad_token_id),
        num_workers=workers,
    )
    seen = {}
    for batch in loader:
        assert isinstance(batch, dict)
        for row, index in enumerate(batch["index"].tolist()):
            ids = batch["input_ids"][row][batch["attention_mask"][row].bool()]
            assert ids.tolist() == tokenizer(SOURCE[index]).input_ids
            seen[index] = batch["trees"][row]
    assert seen == {index: TREES[index] for index in (0, 2, 3)}
