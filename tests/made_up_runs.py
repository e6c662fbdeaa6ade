"""Directories of training runs that nobody has trained, for reports."""

import json

import yaml
from pictures import example

SETTINGS = {
    "output": "runs/a",
    "objective": {"flat_steps": 0, "uniform_steps": 100, "flat_weight": 0.5},
    "optimisation": {"steps": 400, "metric": "bleu"},
    "recombination": {"start": 300},
    "seed": 0,
}
STEPS = (100, 200, 300, 400)
TRANSLATIONS = {
    100: example([("das Haus ist klein", "the the")], [0]),
    200: example([("das Haus", "the house"), ("ist klein", "is small")], [0, 1]),
    300: example([("das Haus", "the house"), ("ist klein", "is small")], [0, 1]),
    400: example([("das Haus", "small"), ("ist klein", "house")], [1, 0]),
}


def logged():
    for step in STEPS:
        lengths = {f"phrases_from_{least}": 0.25 for least in (1, 2, 4, 8)}
        yield {"step": step, "epoch": 1.0, "loss": 500 / step, "phrases": 3.0, **lengths}
        scores = {"eval_bleu": step / 10, "eval_cky_bleu": step / 8, "eval_posterior_trees": 50.0}
        yield {"step": step, "epoch": 1.0, "eval_loss": 400 / step, **scores}


def saved(reference="the house is small"):
    for step, translation in TRANSLATIONS.items():
        line = {"step": step, "number": 1, "reference": reference} | translation.to_json()
        yield line | {"mode": "flat", **({"derivation": None} if step == 100 else {})}


def lines_of(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def made_up_run(directory, settings=SETTINGS, finished=True, entries=None, examples=None):
    """Write the files of a run."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "metrics.jsonl").write_text(lines_of(logged() if entries is None else entries))
    (directory / "config.yaml").write_text(yaml.safe_dump(settings))
    (directory / "examples.jsonl").write_text(lines_of(saved() if examples is None else examples))
    start = {"step": 0, "python": "3.11", "torch": "2.13.0"}
    (directory / "environment.jsonl").write_text(lines_of([start, {**start, "step": 200}]))
    (directory / "data.json").write_text(json.dumps({"train": "600 pairs"}))
    if finished:
        (directory / "manifest.json").write_text("{}")
    return directory
