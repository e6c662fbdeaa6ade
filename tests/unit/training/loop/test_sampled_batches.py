"""Batches in sampled tokens: the same text, and derivations that stay where they were."""

import pytest
import torch

from btg_seq2seq.grammar import Tree
from btg_seq2seq.text import Bitext, Collator, encode_bitext, train_tokenizer
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.subword_sampling import subword_sampler
from btg_seq2seq.text.units import fenceposts_of, unit_table
from btg_seq2seq.training.loop.sampled_batches import SampledBatches

SOURCE = ["the dog saw the other dog", "the gardener in the garden", "dogs"]
TARGET = ["der hund sah den anderen hund", "der gärtner im garten", "hunde"]
TREES = ["<[0:1 1:2] 2:6>", "[0:2 2:5]", "0:1"]
SEGMENTATIONS = [[(0, 2), (2, 4), (4, 6)], [(0, 2), (2, 4)], [(0, 1)]]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer("bpe", [*SOURCE, *TARGET] * 4, 330)


def batches_of(tokenizer, max_length=None, seed=0, share=0.5):
    sampler = subword_sampler(tokenizer, share, None)
    table = unit_table(tokenizer)
    frames = Frames.of(tokenizer)
    return SampledBatches(sampler, frames, table, tokenizer.pad_token_id, seed, max_length)


def batch_of(tokenizer, rows=(0, 1, 2), taught=True):
    data = encode_bitext(Bitext(SOURCE, TARGET), tokenizer)
    batch = Collator(tokenizer.pad_token_id)([data[row] for row in rows])
    if taught:
        batch["trees"] = [Tree.parse(TREES[row]) for row in rows]
        batch["segmentations"] = [SEGMENTATIONS[row] for row in rows]
    return batch


def texts(tokenizer, batch):
    labels = batch["labels"].clamp(min=tokenizer.pad_token_id)
    return [
        tokenizer.batch_decode(ids, skip_special_tokens=True)
        for ids in (batch["input_ids"], labels)
    ]


@pytest.mark.parametrize("taught", [False, True])
def test_the_text_and_the_words_of_derivations_stay(tokenizer, taught):
    batch = batch_of(tokenizer, taught=taught)
    batches = batches_of(tokenizer)
    lengths = set()
    for step in range(20):
        drawn = batches(batch, step)
        assert texts(tokenizer, drawn) == texts(tokenizer, batch)
        assert torch.equal(drawn["index"], batch["index"])
        lengths.add(drawn["input_ids"].shape[1])
        if taught:
            assert [str(tree) for tree in drawn["trees"]] == [str(tree) for tree in batch["trees"]]
            assert drawn["segmentations"] == batch["segmentations"]
    assert len(lengths) > 1


def test_draws_depend_on_seed_step_and_line_alone(tokenizer):
    def drawn(rows=(1,), seed=0, step=0, part=0):
        batch = batch_of(tokenizer, rows)
        row = batches_of(tokenizer, seed=seed)(batch, step, part)["labels"][-1].tolist()
        return [token for token in row if token >= 0]

    assert drawn() == drawn() == drawn(rows=(0, 1))
    assert len({tuple(drawn(step=step)) for step in range(10)}) > 1
    assert len({tuple(drawn(seed=seed)) for seed in range(10)}) > 1


def test_a_sample_that_is_too_long_is_not_used(tokenizer):
    batch = batch_of(tokenizer, rows=(0,))
    longest = batch["input_ids"].shape[1]
    drawn = batches_of(tokenizer, max_length=longest, share=0.99)(batch, 0)
    assert drawn["input_ids"].shape[1] <= longest
    assert texts(tokenizer, drawn) == texts(tokenizer, batch)


def test_units_of_drawn_tokens_are_words(tokenizer):
    table = unit_table(tokenizer)
    drawn = batches_of(tokenizer)(batch_of(tokenizer), 3)
    frame = Frames.of(tokenizer).source
    for row, text in enumerate(SOURCE):
        ids = drawn["input_ids"][row][drawn["attention_mask"][row].bool()].tolist()
        own = ids[len(frame.prefix) : len(ids) - len(frame.suffix)]
        assert len(fenceposts_of(table, own)) == len(text.split()) + 1
