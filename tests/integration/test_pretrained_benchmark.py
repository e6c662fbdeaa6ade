"""The estimate for pretrained models: its arithmetic, from the settings of tasks."""

from pathlib import Path

import pytest

from benchmarks.pretrained import MODELS, RATE, plain_hours, ratios

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("task", [task for _, task in MODELS.values()])
def test_hours_follow_from_the_settings(task: str) -> None:
    steps = 6000 if "mt5" in task else 4000
    tokens = steps * 2 * 1024  # two batches for each update
    assert plain_hours(10**9, task) == pytest.approx(tokens * 6e9 / RATE / 3600)


def test_measured_ratios_are_read_from_the_page() -> None:
    measured = ratios((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    assert measured["plain"] == (1.0, 1.0)
    assert {"taught", "paper, sentence states", "robust"} <= measured.keys()
