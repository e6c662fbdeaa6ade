"""Extensions from outside the package: the examples of docs/extending.md are run and used."""

import copy
import json
import math
import os
import re
import subprocess
import sys
import types
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
import torch
from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq import BTGSeq2Seq
from btg_seq2seq.cli.commands import COMMANDS, register_command
from btg_seq2seq.cli.main import main
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.evaluation.metrics import (
    METRICS,
    TREE_METRICS,
    Score,
    TreeMetric,
    register_tree_metric,
)
from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.model.families import FAMILIES
from btg_seq2seq.tasks.registry import TASKS, register_task
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.training.objective import estimator
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.measures import MEASURES
from btg_seq2seq.training.settings.optimisation import OptimisationConfig
from btg_seq2seq.translation import formats

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
REGISTRIES = (METRICS, TREE_METRICS, MEASURES, FAMILIES, TASKS, COMMANDS)


@pytest.fixture(autouse=True)
def _restored():
    """Forget what a test has registered."""
    before = [dict(registry) for registry in REGISTRIES]
    yield
    for registry, entries in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(entries)


def examples(title):
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def run_example(title, number=0):
    values = {}
    exec(compile(examples(title)[number], "docs/extending.md", "exec"), values)
    return values


def install(monkeypatch, name, code):
    """Make code importable as a module of the package my_package."""
    module = types.ModuleType(name)
    exec(compile(code, "docs/extending.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "my_package", types.ModuleType("my_package"))
    monkeypatch.setitem(sys.modules, name, module)


def test_a_metric_in_evaluate(run, files):
    run_example("A metric")
    status, lines, _ = run("evaluate", "source.txt", "target.txt", "--max-output-extra", "2")
    assert status == 0
    assert lines[4].startswith("missing words ")
    _, rows, _ = run("evaluate", "source.txt", "target.txt", "--format", "json")
    assert 0 <= json.loads("\n".join(rows))["word_errors"] <= 100


def test_a_metric_that_chooses_the_best_checkpoint(tmp_path):
    run_example("A metric")
    config = tiny_config(tmp_path / "run", flat=True, steps=4, eval_every=2, metric="word_errors")
    config.optimisation.check_metric(has_trees=False)
    assert not config.optimisation.greater_is_better
    result = train(config, bitexts=tiny_bitexts(), metrics=DevMetrics(3), quiet=True)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    measured = {
        entry["step"]: entry["eval_word_errors"]
        for entry in map(json.loads, lines)
        if "eval_word_errors" in entry
    }
    assert set(measured) == {2, 4}
    assert measured[result.averaged_steps[0]] == min(measured.values())


def test_metrics_that_are_not_registered(run, files):
    with pytest.raises(ValueError, match=r"word_errors, which not every .* choose one of loss, "):
        OptimisationConfig(metric="word_errors").check_metric(has_trees=False)
    with pytest.raises(ValueError, match="did you mean chrf"):
        OptimisationConfig(metric="chfr").check_metric(has_trees=False)


def test_a_metric_of_trees(run, files):
    class Leaves(TreeMetric):
        name, title = "leaves_found", "trees with the right number of leaves"

        def compute(self, trees, gold):
            pairs = zip(trees, gold, strict=True)
            return Score(100 * sum(a is not None and a.segments == b.segments for a, b in pairs))

    register_tree_metric(Leaves())
    OptimisationConfig(metric="prior_leaves_found").check_metric(has_trees=True)
    with pytest.raises(ValueError, match=r"needs data\.dev_trees"):
        OptimisationConfig(metric="prior_leaves_found").check_metric(has_trees=False)
    options = ("source.txt", "target.txt", "--trees", "trees.txt", "--format", "json")
    values = json.loads("\n".join(run("evaluate", *options)[1]))
    assert values["leaves_found"] == {"posterior": 200.0, "prior": 200.0}
    assert set(values["trees"]) == {"posterior", "prior"}


def test_a_backbone_family(tmp_path):
    values = run_example("A backbone family")
    config = values["MyConfig"](
        vocab_size=30, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2
    )
    model = BTGSeq2Seq.from_backbone(config, max_segments=2)
    model.backbone.add_segment_ids(28, 29)
    assert isinstance(model.backbone.model, values["MyModel"])
    tokens = torch.tensor([[10, 11, 12, 1]])
    assert model(tokens, torch.ones_like(tokens), tokens).loss.isfinite()
    model.save_pretrained(tmp_path)
    assert isinstance(BTGSeq2Seq.from_pretrained(tmp_path).backbone.model, values["MyModel"])
    del FAMILIES["my_t5"]
    with pytest.raises(ValueError, match="'my_t5' cannot serve as a backbone"):
        Backbone.load(config)


def test_an_estimator(tmp_path, monkeypatch):
    monkeypatch.setattr(estimator, "_REGISTRY", dict(estimator._REGISTRY))
    run_example("An estimator")
    install(monkeypatch, "my_package.halves", examples("An estimator")[1])
    config = tiny_config(tmp_path / "run", steps=2, eval_every=2)
    config.objective = replace(config.objective, estimator="halves")
    train(config, bitexts=tiny_bitexts(), quiet=True)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    steps = [entry for entry in map(json.loads, lines) if "loss" in entry]
    assert [entry["parsed"] for entry in steps] == [1, 1]  # all sentences have two words or more
    assert all(entry["phrases"] > 0 for entry in steps)


def test_a_task(tmp_path):
    run_example("A task")
    task = TASKS["pairs"]
    with pytest.raises(ValueError, match=r"does not have the files of pairs: pairs\.tsv missing"):
        task.bitexts(tmp_path)
    (tmp_path / "pairs.tsv").write_text("ein Haus\ta house\nklein\tsmall\n", encoding="utf-8")
    sets = task.bitexts(tmp_path)
    assert set(sets) == {"train", "dev", "test"}
    assert sets["test"].target == ["a house", "small"]
    assert all(one.metric in METRICS for one in TASKS.values())
    with pytest.raises(ValueError, match="another task of the name 'pairs'"):
        register_task(Task("pairs", "others", task.make))


def test_a_command(tmp_path, monkeypatch, capsys):
    run_example("A command")
    install(monkeypatch, "my_package.count", examples("A command")[1])
    (tmp_path / "text").write_text("one two three")
    assert main(["count", str(tmp_path / "text")]) == 0
    assert capsys.readouterr().out == "3\n"
    assert main(["count"]) == 1
    assert capsys.readouterr().err == "btg count: give one file: btg count FILE\n"
    assert main(["--help"]) == 0
    assert "count the words of a file" in capsys.readouterr().out
    with pytest.raises(ValueError, match="another command of the name 'train'"):
        register_command("train", "another", "my_package.train")


def test_an_output_format(run, files, monkeypatch):
    monkeypatch.setattr(formats, "_formats", copy.deepcopy(formats._formats))
    run_example("An output format")
    status, lines, _ = run("translate", "source.txt", "--format", "both")
    assert status == 0
    sources = Path("source.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert [line.split("\t")[0] for line in lines] == sources


def test_a_phrase_translator():
    values = run_example("A phrase translator")
    hypotheses = values["result"].hypotheses
    assert {own.tokens for own in hypotheses} == set(permutations([3, 4, 5]))
    # All trees are equally likely, and one of the phrases has the probability 1/2; there is no
    # derivation with one or two phrases.
    shares = [math.exp(own.log_prob) for own in hypotheses]
    assert 0 < sum(shares) < 0.5


@pytest.fixture
def installed(tmp_path):
    """Run ``btg`` where a package is installed whose extension has this code."""

    def run(code, *arguments):
        (tmp_path / "my_extension.py").write_text(code, encoding="utf-8")
        metadata = tmp_path / "my_extension-1.0.dist-info"
        metadata.mkdir(exist_ok=True)
        (metadata / "METADATA").write_text("Name: my-extension\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text("[btg_seq2seq]\nmine = my_extension\n")
        path = os.pathsep.join([str(tmp_path), str(ROOT)])
        return subprocess.run(
            [sys.executable, "-m", "btg_seq2seq.cli.main", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    return run


def test_extensions_are_found_by_entry_points(installed):
    code = "from btg_seq2seq.cli.commands import register_command\n"
    code += "register_command('hello', 'greet', 'my_extension')\n"
    code += "def main(arguments):\n    print('hello', *arguments)\n    return 3\n"
    done = installed(code, "hello", "you")
    assert (done.returncode, done.stdout, done.stderr) == (3, "hello you\n", "")


def test_an_extension_that_cannot_be_loaded(installed):
    done = installed("import no_such_module", "--help")
    assert done.returncode == 1
    assert done.stderr.startswith("btg: the extension mine (my_extension) cannot be loaded: Module")
    assert done.stderr.count("\n") == 1
