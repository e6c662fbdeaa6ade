"""Numbers of phrases."""

import torch

from btg_seq2seq.derivations.parsers import draw_segments


def test_segment_counts_are_drawn_for_each_sentence():
    torch.manual_seed(0)
    maximum = torch.tensor([1, 2, 3, 5] * 500)
    drawn = draw_segments(maximum, 0.5, torch.rand(len(maximum))).view(500, 4)
    assert drawn[:, 0].eq(1).all()
    assert drawn[:, 1].eq(2).all()
    assert set(drawn[:, 3].tolist()) == {2, 3, 4, 5}
    assert len({tuple(row) for row in drawn.tolist()}) > 3
