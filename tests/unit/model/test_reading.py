"""Readings of a batch: parts of it are the readings of these sentences."""

import torch
from tiny_models import batch_of, tiny_backbone

from btg_seq2seq.model.reading import Pair, Reading, Side
from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.text.units import LETTER, SPACED

# Token 6 continues a word, and 5 and 7 are words: 5 6 | 7.
TABLE = torch.full((10,), SPACED | LETTER << 2, dtype=torch.uint8)
TABLE[6] = LETTER | LETTER << 2


def tiny_pair():
    """Two sentence pairs; every tensor holds its own numbers."""
    source = Side.of(torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([3, 2]), TABLE)
    target = Side.of(torch.tensor([[4, 3], [2, 0]]), torch.tensor([2, 1]), None)
    states, prior, posterior, leaves = (
        torch.arange(2.0 * size).view(2, -1, width)
        for size, width in ((12, 4), (8, 2), (8, 2), (3, 1))
    )
    return Pair(source, target, states, prior, posterior, leaves[..., 0])


def test_a_side_without_its_longest_sentence_is_narrower():
    side = tiny_pair().source[torch.tensor([1])]
    assert side.tokens.tolist() == [[8, 9]]
    assert side.lengths.tolist() == [2]


def test_units_of_a_side():
    pair = tiny_pair()
    assert pair.source.units.tolist() == [2, 2]
    assert pair.source.posts.tolist() == [[0, 2, 3], [0, 1, 2]]
    assert pair.target.units.tolist() == [2, 1]  # without a table, every token is one
    assert pair.target.posts.tolist() == [[0, 1, 2], [0, 1, 1]]
    assert pair.target[torch.tensor([1])].posts.tolist() == [[0, 1]]
    spans = torch.tensor([[[0, 1], [1, 2]], [[1, 2], [0, 1]]])
    assert pair.source.positions(spans).tolist() == [[[0, 2], [2, 3]], [[1, 2], [0, 1]]]


def test_rows_of_a_pair():
    pair = tiny_pair()
    last = pair[torch.tensor([1])]
    for name in ("states", "prior_scores", "posterior_scores", "leaf_scores"):
        assert torch.equal(getattr(last, name), getattr(pair, name)[1:])
    assert last.source.tokens.tolist() == [[8, 9, 0]]
    assert last.target.lengths.tolist() == [1]
    assert last.source.posts.tolist() == [[0, 1, 2]]


def test_repeated_pairs_leave_the_scores_of_trees_behind():
    pair = tiny_pair()
    twice = pair.repeat(2)
    assert twice.source.lengths.tolist() == [3, 3, 2, 2]
    assert torch.equal(twice.leaf_scores, pair.leaf_scores[[0, 0, 1, 1]])
    assert twice.prior_scores.shape == twice.posterior_scores.shape == (4, 0, 2)


def test_the_flat_likelihood_is_the_sum_over_tokens():
    backbone = tiny_backbone("t5")
    input_ids, mask, labels = batch_of(backbone)
    decoded = backbone.decode_labels(labels, backbone.encode(input_ids, mask), mask)
    reading = Reading(backbone, decoded, labels, torch.tensor([], dtype=torch.long), None)
    log_probs = backbone.logits(decoded).log_softmax(-1)
    for row, wanted in enumerate(labels):
        own = [log_probs[row, i, token] for i, token in enumerate(wanted) if token != IGNORED]
        torch.testing.assert_close(reading.flat_log_prob[row], torch.stack(own).sum())
        assert reading.target_tokens[row] == len(own)
