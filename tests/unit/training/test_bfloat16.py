"""A notice where bfloat16 is slower than float32, and none elsewhere."""

import pytest
import torch

from btg_seq2seq.training import bfloat16


@pytest.mark.parametrize(("slowness", "notices"), [(3.0, 1), (0.5, 0)])
def test_a_slow_processor_is_reported(monkeypatch, slowness, notices):
    monkeypatch.setattr(
        bfloat16, "seconds", lambda dtype: slowness if dtype is torch.bfloat16 else 1.0
    )
    said: list[str] = []
    bfloat16.warn_if_slow(said.append)
    assert len(said) == notices
    assert all("3.0 times more slowly" in line and "optimisation.bf16" in line for line in said)


def test_products_are_timed():
    assert bfloat16.seconds(torch.float32) > 0
