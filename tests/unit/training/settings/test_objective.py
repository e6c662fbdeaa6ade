"""Settings of the objective."""

import pytest

from btg_seq2seq.training import ObjectiveSettings


def test_settings_are_checked():
    with pytest.raises(ValueError, match="flat_weight"):
        ObjectiveSettings(flat_weight=1.5)
    with pytest.raises(ValueError, match=r"samples must be 2 or more for the estimator paper"):
        ObjectiveSettings(estimator="paper", baseline="leave-one-out", samples=1)
    with pytest.raises(ValueError, match=r"objective\.turned must lie between 0 and 1, not 2"):
        ObjectiveSettings(turned={0: 0.3, 10: 2})
    with pytest.raises(
        ValueError, match=r"samples must be 2 or more for the estimator robust .*, not 1"
    ):
        ObjectiveSettings(estimator="robust", samples=1)
    with pytest.raises(ValueError, match=r"set objective\.taught_steps, too"):
        ObjectiveSettings(fading_steps=10)
    ObjectiveSettings(estimator="paper", baseline="self-critical", samples=1)
