"""The README, the pages in docs/ and the demo show what works, as it works."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import summary, svo_sov
from btg_seq2seq.cli.commands import COMMANDS
from btg_seq2seq.cli.main import main
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.tasks import demo
from btg_seq2seq.tasks.svo_sov import SvoSovConfig
from btg_seq2seq.training import BTGObjective, ObjectiveSettings
from btg_seq2seq.training.objective.estimator import describe_estimator, estimator_names
from btg_seq2seq.training.settings.config import DataConfig

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
)
PLACEHOLDER = re.compile(r'"(NAME|DIRECTORY|CONFIG)"')  # for what only the reader has


def examples_in(language: str) -> list[tuple[str, str]]:
    """Page and text of every code block in a language."""
    return [
        (page, example)
        for page in PAGES
        for example in re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    ]


# Those of docs/extending.md register things: test_extending.py runs and uses them.
@pytest.mark.parametrize(
    ("page", "example"), [one for one in examples_in("python") if one[0] != "docs/extending.md"]
)
def test_python_examples_run(page: str, example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, page, "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::UserWarning")  # rules that contradict each other, on purpose
@pytest.mark.parametrize(("page", "example"), examples_in("py"))
def test_examples_with_a_model_run(page: str, example: str, model: str) -> None:
    """Their comments show what a model that has learned something would say."""
    values: dict[str, Any] = {}
    if PLACEHOLDER.search(example):
        example = "\n".join(re.findall(r"^(?:from|import) .*", example, re.MULTILINE))
    exec(compile(example.replace("MODEL", model), page, "exec"), values)
    if "best" in values:
        assert "Haus -> house" in values["best"].bracket


def test_there_are_examples() -> None:
    assert examples_in("python")
    assert examples_in("py")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    text = path.read_text()
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text) + re.findall(
        r'(?:src|href)="([^"#]*)(#?)"', text
    )
    for target, anchor in links:
        if target.startswith("https://"):
            continue
        linked = path.parent / target if target else path
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            assert anchor in anchors_of(linked.read_text()), f"{target}#{anchor}"


def anchors_of(text: str) -> set[str]:
    """Names that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_results_are_those_of_the_benchmark() -> None:
    runs = [json.loads(path.read_text()) for path in ROOT.glob("docs/results/svo_sov/*.json")]
    chosen = [run for run in runs if run["seed"] < svo_sov.SEEDS]
    assert summary.summary(chosen, (ROOT / "docs/benchmarks.md").read_text()) in README


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) <= 120


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


def test_the_demo_runs_and_its_model_translates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demonstration with a task and steps that are too few to learn anything."""
    task = SvoSovConfig.tiny("few-shot", words="readable")
    monkeypatch.setattr(demo, "TASK", task)
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
    parts = (
        "seq2seq",
        "BTG-1",
        "BTG-N",
        "Right trees",
        "Recombined",
        "  tree ",
        "The rule was obey",
    )
    assert [part for part in parts if part not in shown] == []
    commands = re.findall(r"^  (btg (?:\\\n|.)*)$", shown, re.MULTILINE)
    lines = [command.replace("\\\n", "") for command in commands]  # as a shell reads them
    serve, translate, translate_with_rule, train = map(shlex.split, lines)
    assert serve == ["btg", "serve", str(output / "btg")]
    for command in (translate, translate_with_rule):
        assert main([*command[1:], "--quiet"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == task.test_size
    assert main([*train[1:], "--quiet"]) == 0
    assert (output / "own" / "model.safetensors").exists()
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
