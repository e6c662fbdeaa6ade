"""Batches with a teacher's derivations: which sentences get which, and when."""

import pytest
import torch

from btg_seq2seq.grammar import Tree
from btg_seq2seq.text import Collator
from btg_seq2seq.training.loop.taught_batches import TaughtBatches
from btg_seq2seq.training.settings.objective import ObjectiveSettings

SENTENCES = 40


class FakeDraws:
    """Draw d of sentence s has the boundary 1 + (s + d) % 2; sentence 3 has no derivation."""

    count = 3

    def phrases(self, position, draw):
        if position == 3:
            return []
        middle = 1 + (position + draw) % 2
        return [(middle, 3, 0, 2), (0, middle, 2, 4)]

    def log_density(self, position, draw):
        return -0.5 * position - draw


class FakeExamples:
    index = tuple(10 * position for position in range(SENTENCES))  # lines of the file


def refuse():
    raise AssertionError("the teacher is not needed")


def taught(step, rows=range(SENTENCES), given=None, **settings):
    settings = {"teacher": "lexical", "taught_steps": 20} | settings
    batches = TaughtBatches(
        ObjectiveSettings(**settings), FakeDraws, FakeExamples(), 5, seed=1, max_segments=2
    )
    examples = [
        {"input_ids": [4, 5, 6, 1], "labels": [7, 8, 9, 4, 1], "index": 10 * row} | (given or {})
        for row in rows
    ]
    return batches(Collator(0)(examples), step)


def test_sentences_come_with_derivations_while_the_teacher_teaches():
    batch = taught(0, taught_share=1.0)
    assert batch["trees"][0] == Tree.parse("<0:1 1:3>")
    assert batch["trees"][1] == Tree.parse("<0:2 2:3>")
    assert batch["segmentations"][0] == [(0, 2), (2, 4)]
    assert batch["flat_only"].nonzero().tolist() == [[3]]
    assert "proposal_log_probs" not in batch


def test_gold_trees_that_are_only_compared_with_make_way():
    batch = taught(0, given={"tree": "[0:1 1:3]"}, taught_share=1.0)
    assert batch["trees"][0] == Tree.parse("<0:1 1:3>")


def test_every_epoch_has_its_draw():
    trees = [str(taught(step)["trees"][0]) for step in range(20)]
    assert trees == ["<0:1 1:3>"] * 5 + ["<0:2 2:3>"] * 5 + ["<0:1 1:3>"] * 10


def test_a_share_is_cut_whatever_the_batch():
    whole = taught(7, taught_share=0.5)["flat_only"]
    assert 10 < whole.sum() < 30
    assert taught(7, [5, 9], taught_share=0.5)["flat_only"].tolist() == whole[[5, 9]].tolist()
    assert taught(8, taught_share=0.5)["flat_only"].tolist() != whole.tolist()


def test_later_derivations_are_proposed_if_the_estimator_takes_them():
    batch = taught(20)
    assert "flat_only" not in batch
    density = torch.tensor([-0.5 * position - 1 for position in range(SENTENCES)])
    torch.testing.assert_close(batch["proposal_log_probs"], density)
    assert "trees" not in taught(20, estimator="paper")


@pytest.mark.parametrize("name", ["segmentations", "flat_only"])
def test_recombined_batches_stay_as_they_are(name):
    batches = TaughtBatches(
        ObjectiveSettings(teacher="lexical", taught_steps=9), refuse, FakeExamples(), 5, 1, 2
    )
    assert batches({name: "made"}, 0) == {name: "made"}


def test_nothing_is_added_in_other_phases(monkeypatch):
    monkeypatch.setattr(FakeDraws, "phrases", refuse)
    assert "trees" not in taught(0, flat_steps=3)
    assert "trees" not in taught(0, uniform_steps=3)
    assert "trees" not in taught(0, teacher="none", estimator="paper")
