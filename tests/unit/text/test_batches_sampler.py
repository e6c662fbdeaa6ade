"""The sampler: every sentence once an epoch, like lengths together, order from seed and epoch."""

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from btg_seq2seq.text import BucketSampler

REPLICAS = [1, 2, 3]


@st.composite
def settings(draw):
    """Lengths and a batch size or a number of tokens that three processes can share."""
    pairs = st.tuples(st.integers(1, 40), st.integers(1, 40))
    lengths = draw(st.lists(pairs, min_size=3, max_size=200))
    if draw(st.booleans()):
        size = {"batch_size": draw(st.integers(3, 50))}
    else:
        size = {"batch_tokens": draw(st.integers(3, 20)) * max(max(pair) for pair in lengths)}
    options = {"seed": draw(st.integers(0, 2**40)), **size}
    try:
        BucketSampler(lengths, num_replicas=max(REPLICAS), **options)
    except ValueError:
        assume(False)
    return lengths, options


epochs = st.integers(0, 1000)


@given(settings(), epochs)
def test_every_sentence_once_an_epoch(setting, epoch):
    lengths, options = setting
    sampler = BucketSampler(lengths, **options)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert len(batches) == len(sampler)
    sizes = [len(batch) for batch in batches]
    if "batch_size" in options:
        assert max(sizes) <= options["batch_size"]
        assert max(sizes) - min(sizes) <= 1
    else:
        longest = max(max(pair) for pair in lengths)
        tokens = [sum(max(lengths[index]) for index in batch) for batch in batches]
        assert max(tokens) <= options["batch_tokens"] + longest
        assert max(tokens) - min(tokens) <= 2 * longest
        assert len(batches) == math.ceil(sum(tokens) / options["batch_tokens"])


@given(settings(), epochs)
def test_processes_share_every_batch(setting, epoch):
    lengths, options = setting
    alone = BucketSampler(lengths, **options)
    alone.set_epoch(epoch)
    for replicas in REPLICAS:
        parts = []
        for rank in range(replicas):
            sampler = BucketSampler(lengths, num_replicas=replicas, rank=rank, **options)
            sampler.set_epoch(epoch)
            assert len(sampler) == len(alone)
            parts.append(list(sampler))
        for batch, *shares in zip(alone, *parts, strict=True):
            assert sorted(index for share in shares for index in share) == sorted(batch)
            sizes = [len(share) for share in shares]
            assert min(sizes) >= 1
            assert max(sizes) - min(sizes) <= 1


@given(settings(), epochs, st.integers(0, 10))
def test_the_order_is_a_function_of_seed_and_epoch(setting, epoch, done):
    lengths, options = setting
    sampler = BucketSampler(lengths, **options)
    sampler.set_epoch(epoch)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(epoch + 1)
    list(sampler)
    resumed = BucketSampler(np.array(lengths), **options)
    resumed.set_epoch(epoch)
    assert list(islice(resumed, done, None)) == first[done:]


def test_epochs_and_seeds_differ():
    lengths = [5] * 100
    orders = set()
    for seed in range(5):
        sampler = BucketSampler(lengths, batch_size=10, seed=seed)
        for epoch in range(5):
            sampler.set_epoch(epoch)
            orders.add(str(list(sampler)))
    assert len(orders) == 25


def padding(lengths, batches):
    """Padded tokens for one token, over both sides."""
    padded = sum(len(batch) * lengths[batch].max(0).sum() for batch in batches)
    return padded / lengths.sum()


@pytest.mark.parametrize("size", [{"batch_size": 32}, {"batch_tokens": 800}])
def test_sentences_of_like_length_share_a_batch(size):
    random = np.random.default_rng(0)
    source = random.integers(1, 60, 10_000)
    lengths = np.stack([source, np.maximum(1, source + random.integers(-5, 6, 10_000))], 1)
    sampler = BucketSampler(lengths, **size)
    batches = list(sampler)
    shuffled = np.array_split(random.permutation(len(lengths)), len(batches))
    assert padding(lengths, shuffled) > 1.7
    assert padding(lengths, batches) < 1.12
    spreads = [np.ptp(lengths[batch].max(1)) for batch in batches]
    assert np.mean(spreads) < 6
    # and batches do not come in the order of their lengths
    means = np.array([lengths[batch].mean() for batch in batches])
    assert abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < 0.2


def test_companions_change():
    lengths = np.random.default_rng(0).integers(1, 60, 10_000)
    sampler = BucketSampler(lengths, batch_size=32)

    def pairs(epoch):
        batches = sampler.global_batches(epoch)
        return {(a, b) for batch in batches for a in batch for b in batch if a < b}

    assert len(pairs(0) & pairs(1)) < 0.1 * len(pairs(0))


def test_large_data():
    lengths = np.random.default_rng(0).integers(1, 100, 300_000)
    sampler = BucketSampler(lengths, batch_tokens=4000)
    assert sum(map(len, sampler)) == len(lengths)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of the two"),
        ({"batch_size": 2, "batch_tokens": 10}, "one of the two"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"batch_tokens": -1}, "batch_tokens must be at least 1, not -1"),
        ({"batch_size": 2, "seed": -1}, "seed"),
        ({"batch_size": 2, "rank": 1}, "rank 1 is not one of 1 processes"),
        ({"batch_size": 2, "rank": -1, "num_replicas": 2}, "rank -1"),
        ({"batch_size": 2, "num_replicas": 2}, "batch_size=2 is too small: .* of 2 processes"),
        ({"batch_tokens": 8}, r"batch_tokens=8 is too small \(the longest sentence has 9\)"),
        ({"batch_size": 2, "lengths": []}, "at least one sentence"),
        ({"batch_size": 2, "lengths": [3, 0]}, "none that is empty"),
    ],
)
def test_settings_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        BucketSampler(**{"lengths": [3, 4, 9], **arguments})


def test_one_batch_is_an_epoch():
    sampler = BucketSampler([3, 4, 9], batch_size=100)
    assert [sorted(batch) for batch in sampler] == [[0, 1, 2]]
    assert sorted(BucketSampler([7], batch_tokens=7)) == [[0]]
