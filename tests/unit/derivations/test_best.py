"""The best derivations of sentence pairs: those that training finds, whatever is in the batch."""

import pytest
import torch
from decoding_models import tiny_model

from btg_seq2seq.derivations import best
from btg_seq2seq.derivations.batch import DerivationBatch
from btg_seq2seq.derivations.best import best_derivations, parse_pairs
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.grammar import truncated_geometric

SOURCES = [(5, 6, 7, 8, 9), (), (5, 6), (7,), (5,) * 12]
TARGETS = [(9, 8, 7, 6), (5,), (6, 5, 7), (8, 9), (6,) * 3]
MODEL = tiny_model(max_segments=3, max_grammar_length=10)


def test_the_derivation_that_training_finds_best():
    found = best_derivations(MODEL, SOURCES, TARGETS, 3)
    parsed = parse_pairs(MODEL, SOURCES, TARGETS, 3)
    assert found[1] is parsed[1] is None  # an empty side
    assert found[4] is parsed[4] is None  # longer than the grammar allows
    config = MODEL.config
    for row in (0, 2, 3):
        input_ids = torch.tensor([[*config.prefix, *SOURCES[row], *config.suffix]])
        labels = torch.tensor([[*TARGETS[row], MODEL.backbone.sentence_end]])
        with torch.no_grad():
            reading = MODEL.read(input_ids, torch.ones_like(input_ids), labels)
        segments = torch.tensor([min(3, len(SOURCES[row]), len(TARGETS[row]))])
        expected = DerivationBatch.best(MODEL, Parsers.of(MODEL, reading.pair, segments))[0]
        assert (found[row].tree, found[row].segmentation) == (expected.tree, expected.segmentation)
        # One phrase is translated as a whole sentence.
        log_probs = expected.log_probs if segments > 1 else reading.flat_log_prob.tolist()
        assert found[row].log_probs == pytest.approx(log_probs, abs=1e-4)
        assert parsed[row].derivation == found[row]
        assert parsed[row].prior_tree.segments == segments.item()


def test_the_number_of_phrases_is_the_most_probable_one():
    """Two at least, unless a side has one unit only."""
    joint = {}
    for count in (2, 3):
        for row, found in enumerate(best_derivations(MODEL, SOURCES, TARGETS, count)):
            if found is not None and found.tree.segments == count:
                joint[row, count] = sum(found.log_probs) + log_prior(row, found.tree)
    assert {row for row, _ in joint} == {0, 2}
    for rate in (0.001, 0.5, 0.999999):
        counts = truncated_geometric(rate, torch.tensor([3]), at_least=2)[0]
        chosen = best_derivations(MODEL, SOURCES, TARGETS, segment_rate=rate)
        expected = max((2, 3), key=lambda count: joint[0, count] + float(counts[count - 1]))
        assert chosen[0].tree.segments == expected
        same = best_derivations(MODEL, SOURCES, TARGETS, expected)[0]
        assert (chosen[0].tree, chosen[0].segmentation) == (same.tree, same.segmentation)
        assert chosen[2].tree.segments == 2
        assert chosen[3].tree.segments == 1
        assert chosen[1] is chosen[4] is None
    assert chosen[0].tree.segments == 2  # three phrases are next to impossible


def log_prior(row, tree):
    input_ids = torch.tensor([[*MODEL.config.prefix, *SOURCES[row], *MODEL.config.suffix]])
    labels = torch.tensor([[*TARGETS[row], MODEL.backbone.sentence_end]])
    with torch.no_grad():
        pair = MODEL.read(input_ids, torch.ones_like(input_ids), labels).pair
        parsers = Parsers.of(MODEL, pair, torch.tensor([tree.segments]))
        return float(parsers.prior.log_prob([tree]))


def test_numbers_of_phrases():
    assert best_derivations(MODEL, SOURCES, TARGETS, 2)[0].tree.segments == 2
    counts = best_derivations(MODEL, SOURCES, TARGETS, [1, 1, 1, 1, 1])
    assert all(found is None or found.tree.segments == 1 for found in counts)
    with pytest.raises(ValueError, match="1 or more, not 0"):
        best_derivations(MODEL, SOURCES, TARGETS, 0)


@pytest.mark.parametrize("name", ["BATCH_TOKENS", "BATCH_SPLITS"])
def test_batches_change_nothing(monkeypatch, name):
    together = best_derivations(MODEL, SOURCES, TARGETS)
    monkeypatch.setattr(best, name, 1)
    for one, other in zip(best_derivations(MODEL, SOURCES, TARGETS), together, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert (one.tree, one.segmentation) == (other.tree, other.segmentation)
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-5)
