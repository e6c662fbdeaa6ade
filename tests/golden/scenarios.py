"""Fixed-seed runs whose every number is recorded: what a change of structure must not change.

``python tests/golden/scenarios.py`` prints them as JSON, ``--write`` keeps them in
``expected.json``. On one machine they are the same bit for bit, which ``--digest`` shows; machines
differ in the last digits, so the test allows for some.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from btg_seq2seq import BTGSeq2Seq, Rule, Translator
from btg_seq2seq.cli.main import main
from btg_seq2seq.model.families import default_config
from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
from btg_seq2seq.tasks.svo_sov_files import write
from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.config import load_config

EXPECTED = Path(__file__).with_name("expected.json")

CONFIG = """
tokenizer: {kind: word}
model: {hidden_size: 32, layers: 1, heads: 2, scorer_width: 16, max_segments: 3, dropout: 0.1}
objective: {uniform_steps: 2, samples: 2}
optimisation: {steps: 10, batch_size: 16, log_every: 1, eval_every: 5, parts: 2, warmup: 3,
  learning_rate: 0.01, translate_dev: 0}
threads: 1
"""

RUNS = {
    "robust": ["--recombination.start", "4", "--recombination.every", "3"],
    "robust-summed-compared": [
        *("--objective.summed_length", "6", "--recombination.start", "5"),
        *("--recombination.compared", "6", "--recombination.derived", "1.0"),
    ],
    "paper": ["--objective.estimator", "paper"],
    "published": [
        *("--objective.estimator", "paper", "--objective.baseline", "self-critical"),
        *("--objective.samples", "1", "--model.phrase_encoding", "sentence"),
        *("--model.residual_posterior", "false", "--model.share_scorers", "true"),
    ],
    "gold": [
        *("--objective.estimator", "gold", "--data.train_trees", "{data}/train.tree"),
        *("--data.train_segmentations", "{data}/train.segmentation"),
        *("--data.dev_trees", "{data}/dev.tree"),
    ],
    "flat": ["--objective.flat_weight", "1"],
    "schedule": ["--objective.flat_weight", "{{0: 1.0, 4: 0.5}}", "--objective.flat_steps", "2"],
}

CORPUS = [
    "the dog saw the other dog in the garden, yes the dog.",
    "in the garden. the dog, the garden, it.",
    "das Haus ist klein, von Grund auf",
] * 3
TEXTS = ["the dog saw the garden", "", "das Haus ist klein, von Grund auf", "it"]
RULES = [
    Rule("dog", ["the cat", "a dog"]),
    Rule("Haus", mode="keep"),
    Rule("von Grund auf", "from scratch", mode="prefer"),
]


def trainings(directory: Path) -> dict:
    """Every estimator, with and without recombination: losses, metrics and weights."""
    write(directory / "data", SvoSovConfig.tiny("few-shot"))
    (directory / "config.yaml").write_text(CONFIG)
    found = {}
    for name, options in RUNS.items():
        arguments = [option.format(data=directory / "data") for option in options]
        for part in ("train", "dev"):
            for side in ("source", "target"):
                arguments += [f"--data.{part}_{side}", str(directory / "data" / f"{part}.{side}")]
        arguments += ["--output", str(directory / name)]
        result = train(load_config(directory / "config.yaml", arguments), quiet=True)
        found[name] = {
            "history": result.history,
            "metrics": result.metrics,
            "recombined": result.recombined,
            "weights": {
                key: [weight.double().sum().item(), weight.double().square().sum().item()]
                for key, weight in result.model.state_dict().items()
            },
        }
    return found


def uses(translator: Translator, texts: list[str], targets: list[str], rules: list[Rule]) -> dict:
    """Everything that a model is used for."""
    found: dict = {}
    for mode in ("flat", "cky"):
        for settings in ({}, {"length_normalised": True}):
            name = f"{mode} {settings}"
            translations = translator.translate(texts, mode=mode, nbest=3, **settings)
            found[name] = [one.to_json() for one in translations]
    found["rules"] = [
        one.to_json() for one in translator.translate(texts, rules=rules, nbest=3, beam_size=4)
    ]
    found["score"] = [
        [one.flat_log_prob, one.cky_log_prob, one.derivation and one.derivation.to_json()]
        for one in translator.score(texts, targets)
    ]
    found["exact score"] = [
        one.cky_log_prob for one in translator.score(texts, targets, span_threshold=0.0)
    ]
    found["align"] = [one.to_json() for one in translator.align(texts, targets)]
    return found


def random_translator(units: str = "words") -> Translator:
    """A model with pieces of words and random weights."""
    tokenizer = train_tokenizer("bpe", CORPUS, 330)
    torch.manual_seed(0)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3, units=units)
    return Translator(model, tokenizer)


def commands(directory: Path, model: Path) -> dict:
    """Files that commands write."""
    data = directory / "data"
    outputs = [str(directory / f"new.{side}") for side in ("source", "target")]
    augment = ["augment", str(model), str(data / "train.source"), str(data / "train.target")]
    augment += ["--output_source", outputs[0], "--output_target", outputs[1], "--count", "40"]
    assert main(augment) == 0
    return {"augment": [Path(path).read_text().splitlines() for path in outputs]}


def scenarios() -> dict:
    """All of it, as plain values."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        found = {"training": trainings(directory)}
        dev = generate(SvoSovConfig.tiny("few-shot"))["dev"][:6]
        trained = Translator.from_pretrained(directory / "robust")
        words = dev[0].source.split()
        rules = [Rule(words[1], "x y"), Rule(words[0], mode="keep")]
        found["trained"] = uses(
            trained, [one.source for one in dev], [one.target for one in dev], rules
        )
        targets = ["das Haus", "", "the dog saw the garden", "in"]
        found["random"] = uses(random_translator(), TEXTS, targets, RULES)
        found["tokens"] = uses(random_translator("tokens"), TEXTS, targets, RULES)
        found["commands"] = commands(directory, directory / "robust")
    plain: dict = json.loads(json.dumps(found))
    return plain


def digest(values: dict) -> str:
    """The same for the same bits alone."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--digest", action="store_true")
    options = parser.parse_args()
    values = scenarios()
    if options.write:
        EXPECTED.write_text(json.dumps(values, sort_keys=True, ensure_ascii=False, indent=0) + "\n")
    if options.digest:
        for part, content in sorted(values.items()):
            for name, own in sorted(content.items()):
                print(digest(own)[:16], part, name)
    if not options.write and not options.digest:
        print(json.dumps(values, indent=1, ensure_ascii=False))
