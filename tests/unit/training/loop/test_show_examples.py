"""Example translations while a model is trained."""

import torch
from tiny_runs import tiny_bitext, tiny_bitexts, tiny_config

from btg_seq2seq.evaluation.dev_examples import DevExamples
from btg_seq2seq.training.loop.show_examples import DevExample
from btg_seq2seq.training.run import train


def test_two_examples_at_each_evaluation(tmp_path, capsys):
    """With derivations once the parsers have learned; training is not disturbed."""
    config = tiny_config(tmp_path / "shown", steps=4, eval_every=2)
    config.objective.flat_steps = 2
    shown = train(config, bitexts=tiny_bitexts(), examples=DevExamples())
    lines = capsys.readouterr().err.splitlines()
    dev = tiny_bitext("dev", 2)
    for source in dev.source:
        assert lines.count(f"  source       {source}") == 2
    assert sum(line.startswith("  translation  ") for line in lines) == 4
    derivations = [line for line in lines if line.startswith("  derivation   ")]
    assert len(derivations) == 2
    assert all(line.split()[1][0] in "[<" for line in derivations)
    assert lines.index(derivations[0]) > next(
        place for place, line in enumerate(lines) if line.startswith("step 4/4  dev")
    )
    config.output = str(tmp_path / "quiet")
    alone = train(config, bitexts=tiny_bitexts(), quiet=True)
    for name, weight in alone.model.state_dict().items():
        assert torch.equal(weight, shown.model.state_dict()[name]), name


def test_examples_without_a_derivation():
    assert list(DevExample("a b", "c").lines) == ["  source       a b", "  translation  c"]
