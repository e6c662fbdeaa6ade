"""Models that are saved while they are trained say whether their parsers have learned."""

from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.files.checkpoints import Checkpoints
from btg_seq2seq.training.run import train


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
