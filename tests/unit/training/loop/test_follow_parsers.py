"""Models that are saved while they are trained say what they have learned."""

import pytest
from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq.model.config import BTGSeq2SeqConfig
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.files.checkpoints import Checkpoints
from btg_seq2seq.training.loop.follow_parsers import note_learned
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.objective import ObjectiveSettings


def test_checkpoints_know_whether_the_parsers_have_learned(tmp_path):
    config = tiny_config(tmp_path, steps=4, eval_every=2, save_every=2, average_checkpoints=2)
    config.objective.flat_steps = 2
    train(config, bitexts=tiny_bitexts(), quiet=True)
    checkpoints = Checkpoints(tmp_path)
    learned = [
        BTGSeq2Seq.from_pretrained(checkpoints.path(step)).config.parsers_learned
        for step in checkpoints.steps
    ]
    assert checkpoints.steps == [2, 4]
    assert learned == [False, True]


@pytest.mark.parametrize(
    ("settings", "steps", "parsers", "reverse"),
    [
        ({"estimator": "robust"}, 1, True, True),
        ({"estimator": "robust", "flat_steps": 5}, 5, False, False),
        ({"estimator": "robust", "reverse_weight": 0.0}, 1, True, False),
        ({"estimator": "robust", "reverse_weight": {0: 0.0, 9: 1.0}}, 1, True, True),
        ({"estimator": "paper"}, 1, True, False),
    ],
)
def test_what_has_been_learned(settings, steps, parsers, reverse):
    config = BTGSeq2SeqConfig(max_segments=3)
    note_learned(config, ObjectiveSettings(uniform_steps=0, **settings), steps)
    assert (config.parsers_learned, config.reverse_learned) == (parsers, reverse)
