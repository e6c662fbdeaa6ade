"""Settings of the texts of a run."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.training.settings.data import DataConfig


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"train_source": "a"}, "data.train_source needs data.train_target"),
        ({"dev_target": "a"}, "data.dev_target needs data.dev_source"),
        ({"train_trees": "a"}, "data.train_trees needs data.train_segmentations"),
        ({"dev_trees": "a"}, "data.dev_trees needs data.dev_source and data.dev_target"),
        ({"max_pairs": 0}, "data.max_pairs must be 1 or more"),
        ({"max_length": 1}, "data.max_length must be 2 or more"),
    ],
)
def test_what_does_not_belong_together(fields, message):
    with pytest.raises(UserError, match=message):
        DataConfig(**fields)


def test_complete_settings():
    assert DataConfig(train_source="a", train_target="b").dev_source is None
