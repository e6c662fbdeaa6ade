"""Choices in proportion to weights; samples of whole trees are in ``test_tree_crf_sampling``."""

import pytest
import torch

from btg_seq2seq.grammar.descent import Chooser

LOG_WEIGHTS = torch.tensor([[0.1, 0.0, 0.6, 0.3]]).log()


def test_without_numbers_the_best_is_chosen():
    assert Chooser()(torch.tensor([[0.0, 2.0, 1.0], [5.0, 2.0, 1.0]])).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("number", "chosen"), [(0.0, 0), (0.05, 0), (0.15, 2), (0.65, 2), (0.75, 3), (0.999999, 3)]
)
def test_a_number_falls_into_the_share_of_its_choice(number, chosen):
    assert Chooser(torch.tensor([[number]]))(LOG_WEIGHTS).item() == chosen


@pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
def test_only_differences_of_log_weights_matter(shift):
    numbers = torch.linspace(0, 0.99, 50)[:, None]
    rows = LOG_WEIGHTS.double().expand(50, -1)
    assert torch.equal(Chooser(numbers)(rows + shift), Chooser(numbers)(rows))


def test_every_choice_has_a_number_of_its_own():
    choose = Chooser(torch.tensor([[0.05, 0.95]]))
    assert [choose(LOG_WEIGHTS).item(), choose(LOG_WEIGHTS).item()] == [0, 3]
    with pytest.raises(StopIteration):
        choose(LOG_WEIGHTS)
