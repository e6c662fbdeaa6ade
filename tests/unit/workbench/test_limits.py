"""Limits of the server."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.workbench.limits import Limits


@pytest.mark.parametrize("field", ["body_bytes", "sentences", "rules", "waiting", "batch"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "many"])
def test_limits_are_whole_numbers(field, value):
    with pytest.raises(UserError, match=field):
        Limits(**{field: value})


def test_the_deadline_is_a_time():
    assert Limits(deadline=0.5).deadline == 0.5
    with pytest.raises(UserError, match="deadline"):
        Limits(deadline=float("nan"))
