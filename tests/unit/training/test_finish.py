"""The final model: the best checkpoint, the last, or the mean of several."""

import pytest
import torch
from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq import BTGSeq2Seq
from btg_seq2seq.training.files.checkpoints import Checkpoints, load_weights
from btg_seq2seq.training.run import train


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"final": "last"}, [6]),
        ({"average_checkpoints": 2}, [3, 6]),
        ({"average_checkpoints": 9}, [3, 6]),
    ],
)
def test_which_checkpoints_become_the_model(tmp_path, settings, steps):
    config = tiny_config(tmp_path, flat=True, steps=6, eval_every=3, **settings)
    result = train(config, bitexts=tiny_bitexts(), quiet=True)
    assert result.averaged_steps == steps
    weights = [load_weights(Checkpoints(tmp_path).path(step)) for step in steps]
    saved = BTGSeq2Seq.from_pretrained(tmp_path).state_dict()
    for name in weights[0]:
        mean = torch.stack([own[name].double() for own in weights]).mean(0).to(saved[name].dtype)
        torch.testing.assert_close(saved[name], mean)


def test_a_model_says_whether_its_parsers_have_learned(tmp_path):
    flat = train(
        tiny_config(tmp_path / "a", flat=True, steps=1), bitexts=tiny_bitexts(), quiet=True
    )
    parsed = train(tiny_config(tmp_path / "b", steps=1), bitexts=tiny_bitexts(), quiet=True)
    assert not flat.model.config.parsers_learned
    assert parsed.model.config.parsers_learned
