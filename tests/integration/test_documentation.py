"""What the README and the demo show must work as they show it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from btg_seq2seq.cli.main import COMMANDS, main
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.tasks import demo
from btg_seq2seq.tasks.svo_sov import SvoSovConfig
from btg_seq2seq.training import BTGObjective, ObjectiveSettings
from btg_seq2seq.training.objective.estimator import describe_estimator, estimator_names
from btg_seq2seq.training.settings.config import DataConfig

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md"])
def test_python_examples_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, page, "exec"), {})
    assert capsys.readouterr().out


def test_examples_with_a_model_run(model: str) -> None:
    """Their comments show what a model that has learned something would say."""
    examples = re.findall(r"```py\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert examples
    for example in examples:
        values: dict[str, Any] = {}
        exec(compile(example.replace("MODEL", model), "README.md", "exec"), values)
        assert "Haus -> house" in values["best"].bracket


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/benchmarks.md", "docs/training.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert target.startswith("https://") or (path.parent / target).exists(), target


@pytest.mark.parametrize("uniform_steps", [0, 10])
@pytest.mark.parametrize("estimator", estimator_names())
def test_every_logged_term_is_explained(estimator: str, uniform_steps: int) -> None:
    config = default_config(30, hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, max_segments=2)
    model.backbone.add_segment_ids(2, 3)
    objective = BTGObjective(ObjectiveSettings(estimator, uniform_steps=uniform_steps))
    objective.step = 0
    tokens = torch.tensor([[10, 11, 12, 1]])
    reading = model.read(tokens, torch.ones_like(tokens), tokens)
    gold: dict[str, Any] = {"trees": ["[0:1 1:3]"], "segmentations": [[(0, 2), (2, 3)]]}
    terms = objective(
        model, reading, **(gold if describe_estimator(estimator).needs_gold else {})
    ).terms
    assert terms
    explained = (ROOT / "docs/training.md").read_text()
    assert [name for name in terms if f"`{name}`" not in explained] == []


def test_contributing_names_every_module() -> None:
    layout = (ROOT / "CONTRIBUTING.md").read_text()
    modules = (ROOT / "btg_seq2seq").rglob("*.py")
    assert [m.name for m in modules if m.name not in layout and m.name != "__init__.py"] == []


def test_the_demo_runs_and_its_model_translates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demonstration on a task and for times that are too small to learn anything."""
    monkeypatch.setattr(demo, "TASK", SvoSovConfig.tiny("few-shot"))
    full = demo.settings(tmp_path, 0)
    short = replace(full.optimisation, steps=6, eval_every=3, translate_dev=2)
    early = replace(full.recombination, start=4)
    small = replace(full.model, hidden_size=16, layers=1, heads=2)
    monkeypatch.setattr(
        demo,
        "settings",
        lambda output, seed: replace(
            full,
            output=str(output),
            optimisation=short,
            recombination=early,
            model=small,
            objective=replace(full.objective, uniform_steps=2),
        ),
    )
    output = tmp_path / "demo"
    assert main(["demo", "--output", str(output)]) == 0
    shown = capsys.readouterr().out
    for part in ("seq2seq", "BTG-1", "BTG-N", "Trees that are right", "Recombined sentences"):
        assert part in shown
    arguments = [str(output / "btg"), str(output / "test.source"), "--mode", "cky"]
    assert main(["translate", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == SvoSovConfig.tiny("few-shot").test_size
    replace(full, data=DataConfig("a", "b")).save(output / "btg")
    assert main(["demo", "--output", str(output)]) == 1
    assert "not the demonstration's" in capsys.readouterr().err
    (output / "btg" / "config.yaml").unlink()  # a model that another program saved
    assert main(["demo", "--output", str(output)]) == 1
    assert (output / "btg" / "model.safetensors").exists()
    capsys.readouterr()


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    overview = capsys.readouterr().out
    assert all(command in overview for command in COMMANDS)
    for command in COMMANDS:
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
        assert f"btg {command}" in capsys.readouterr().out
    assert main(["tranlsate"]) == 2
    assert "there is no command 'tranlsate'" in capsys.readouterr().err
