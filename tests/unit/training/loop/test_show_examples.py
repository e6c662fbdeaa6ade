"""Example translations while a model is trained."""

import json
from dataclasses import replace

import pytest
import torch
from tiny_runs import tiny_bitext, tiny_bitexts, tiny_config

from btg_seq2seq.evaluation.dev_examples import DevExamples
from btg_seq2seq.training.loop.show_examples import DevExample
from btg_seq2seq.training.run import train
from btg_seq2seq.translation.translation import Translation


def test_two_examples_at_each_evaluation(tmp_path, capsys):
    """With derivations once the parsers have learned; training is not disturbed."""
    config = tiny_config(tmp_path / "shown", steps=4, eval_every=2)
    config.model = replace(config.model, initial_weights="t5")  # no translation is empty
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
    saved = [json.loads(line) for line in (tmp_path / "shown/examples.jsonl").open()]
    assert [(one["step"], one["number"]) for one in saved] == [
        (step, number) for step in (2, 4) for number in (1, 2, 3, 4)
    ]
    assert [one["derivation"] is None for one in saved] == [True] * 4 + [False] * 4
    assert Translation.from_json(saved[-1]).source == tiny_bitext("dev", 4).source[3]
    config.output = str(tmp_path / "quiet")
    alone = train(config, bitexts=tiny_bitexts(), quiet=True)
    for name, weight in alone.model.state_dict().items():
        assert torch.equal(weight, shown.model.state_dict()[name]), name


def test_examples_without_a_derivation():
    assert list(DevExample("a b", "c").lines) == ["  source       a b", "  translation  c"]


class KilledError(Exception):
    pass


def test_a_killed_run_goes_on_with_the_same_examples(tmp_path, monkeypatch):
    """What it wrote after its checkpoint, half a line included, is written again."""

    def config(name):
        return tiny_config(tmp_path / name, flat=True, steps=6, eval_every=2, save_every=3)

    def run(name, examples, **options):
        train(config(name), bitexts=tiny_bitexts(), examples=examples, quiet=True, **options)
        text = (tmp_path / name / "examples.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    class Fails(DevExamples):
        calls = 0

        def __call__(self, *given):
            self.calls += 1
            if self.calls == 3:
                raise KilledError
            return super().__call__(*given)

    whole = run("whole", DevExamples())
    with pytest.raises(KilledError):
        run("run", Fails())
    with (tmp_path / "run" / "examples.jsonl").open("ab") as file:
        file.write(b'{"step": 5}\n{"step": 4, "sour')
    resumed = run("run", DevExamples(), resume=True)
    # Weights are equal bit by bit, but how a product is rounded depends on where they are in
    # memory, and a resumed run has read them from a file.
    for name in ("log_prob", "rank_score"):
        found, expected = ([line.pop(name) for line in lines] for lines in (resumed, whole))
        assert found == pytest.approx(expected, rel=1e-6)
    assert resumed == whole
    starts = [json.loads(line) for line in (tmp_path / "run" / "environment.jsonl").open()]
    assert [start["step"] for start in starts] == [0, 4]
