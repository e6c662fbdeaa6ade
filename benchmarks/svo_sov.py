"""SVO-SOV at the paper's sizes, several seeds: exact match of all systems, and trees.

Every run generates its data, trains from a file in ``examples/svo_sov`` and translates the test set
flat (BTG-1) and by cky (BTG-N); a seed is that of data and model. Runs that are done are kept, and
others resumed, so the command can be stopped and started again. ``--markdown`` writes the table
from what is there, ``--readme`` the three rows of the README.
"""

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal, get_args

from benchmarks import harness, summary
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.evaluation.metrics import exact_match
from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.tasks.svo_sov import Split
from btg_seq2seq.text import Bitext
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.files.environment import revision as revision_of_code
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.config import CONFIG_FILE, TrainConfig, load_config
from btg_seq2seq.translation.translator import Translator

CONFIGS = Path("examples/svo_sov")
WATCHED = 500  # dev sentences that a run is watched with
# What a system changes in the file of its split.
SYSTEMS: dict[str, list[str]] = {
    "btg": [],
    "summed": ["--objective.summed_length", "24"],
    "paper": [
        *("--objective.estimator", "paper", "--recombination.start", "null"),
        *("--optimisation.steps", "1000", "--model.position_spread", "null"),
    ],
    "published": [
        *("--objective.estimator", "paper", "--objective.baseline", "self-critical"),
        *("--objective.samples", "1", "--objective.uniform_steps", "0"),
        *("--model.phrase_encoding", "sentence", "--model.residual_posterior", "false"),
        *("--recombination.start", "null", "--optimisation.steps", "1000"),
        *("--model.position_spread", "null"),
    ],
    "seq2seq": ["--objective.flat_weight", "1", "--recombination.start", "null"],
}
NAMES = {
    "btg": "BTG-Seq2Seq",
    "summed": "with the sum over target segmentations, for all sentences",
    "paper": "with the paper's estimator, leave-one-out, no recombination",
    "published": "as published: self-critical, sentence states",
    "seq2seq": "seq2seq",
}
BARS = {("few-shot", "flat"): 96.0, ("novel-position", "flat"): 99.5}
SEEDS = 5  # fewer say nothing of the worst
CKY_BAR, TREE_BAR, PRIOR_BAR = 100.0, 95.0, 2.0
MINUTES_BAR = 10.0  # of CPU time per run


def config_of(system: str, split: str, seed: int) -> TrainConfig:
    """The settings of a run; what must not be recombined is not in files, but in ``held_out``."""
    changed = [*SYSTEMS[system], "--recombination.exclude", "[]"]
    return replace(load_config(CONFIGS / f"{split}.yaml", changed), seed=seed)


def is_done(path: Path, job: tuple[str, str, int]) -> bool:
    """Tell whether there is a result with the present settings; new ones have their defaults."""
    if not path.exists():
        return False
    found = json.loads(path.read_text(encoding="utf-8"))["config"]
    defaults = json.loads(json.dumps(asdict(TrainConfig(output=found["output"]))))
    for section, fields in defaults.items():
        found.setdefault(section, fields)
        if isinstance(fields, dict):
            found[section] = fields | found[section]
    return bool(found == json.loads(json.dumps(asdict(config_of(*job)))))


def is_resumable(directory: Path, config: TrainConfig) -> bool:
    """Tell whether a directory holds a stopped run, or one that only ends differently."""
    started = directory / CONFIG_FILE
    return started.exists() and not load_config(started).differences(config)


def run(system: str, split: Split, seed: int, directory: Path) -> dict[str, Any]:
    """Train and measure one system."""
    begin, revision = time.process_time(), revision_of_code() or ""
    config = replace(config_of(system, split, seed), output=str(directory))
    sets = TASKS[f"svo-sov/{split}"].bitexts(seed=seed)
    may_resume = is_resumable(directory, config)
    watched = _first(sets["dev"], WATCHED)
    held_out = [*sets["dev"].source, *sets["test"].source]
    trained = train(
        config,
        bitexts=Bitexts(sets["train"], watched, held_out),
        metrics=DevMetrics(config.optimisation.translate_dev),
        resume=may_resume,
        overwrite=not may_resume,
    )
    # Of a run in several pieces, nobody knows.
    seconds = None if may_resume else time.process_time() - begin
    translator = Translator(trained.model, trained.tokenizer)
    result: dict[str, Any] = {"system": system, "split": split, "seed": seed, "seconds": seconds}
    result |= {"steps": trained.steps, "config": asdict(config_of(system, split, seed))}
    result |= {"revision": revision, "recombined": trained.recombined}
    modes: list[Literal["flat", "cky"]] = ["flat"]
    modes += ["cky"] * (system != "seq2seq")
    for name, pairs in (("dev", watched), ("test", sets["test"])):
        for mode in modes:
            found = translator.translate(pairs.source, mode=mode)
            score = exact_match([each.text for each in found], pairs.target)
            result[f"{name} {mode}"] = score
    if system != "seq2seq":
        trees = DevMetrics(0)(trained.model, trained.tokenizer, sets["dev"])
        result |= {name: trees[name] for name in ("posterior_trees", "prior_trees")}
    return result


def _first(pairs: Bitext, count: int) -> Bitext:
    trees = None if pairs.trees is None else pairs.trees[:count]
    return Bitext(pairs.source[:count], pairs.target[:count], trees, pairs.name)


def table(results: list[dict[str, Any]]) -> tuple[list[list[str]], list[harness.Bar]]:
    """Median and worst of the seeds, system by system; and the bars."""
    rows, bars = [], []
    columns = ("test flat", "test cky", "posterior_trees", "prior_trees")
    for split in get_args(Split):
        for system, name in NAMES.items():
            own = [each for each in results if (each["split"], each["system"]) == (split, system)]
            if not own:
                continue
            cells = []
            for column in columns:
                values = [each[column] for each in own if column in each]
                text = f"{median(values):.2f} ({min(values):.2f})" if values else ""
                cells.append(text or harness.NOT_MEASURED)
            steps = str(max(each["steps"] for each in own))
            seconds = [each["seconds"] for each in own if each["seconds"] is not None]
            minutes = f"{mean(seconds) / 60:.0f}" if seconds else harness.NOT_MEASURED
            tries = [each["recombined"] for each in own if each["recombined"]]
            made, excluded = (sum(each[key] for each in tries) for key in ("made", "coincidences"))
            held_out = f"{excluded:,} of {made:,}" if tries else ""
            seeds = ", ".join(str(each["seed"]) for each in own)
            rows.append([split, name, seeds, steps, *cells, held_out, minutes])
            if system == "btg" and len(own) >= SEEDS:
                bars += _bars(split, own)
    return rows, bars


def _bars(split: str, runs: list[dict[str, Any]]) -> list[harness.Bar]:
    columns = ("test flat", "test cky", "posterior_trees")
    worst = {column: min(run[column] for run in runs) for column in columns}
    behind = max(run["posterior_trees"] - run["prior_trees"] for run in runs)
    of = f"worst of {len(runs)} seeds"
    seconds = [run["seconds"] for run in runs if run["seconds"] is not None]
    bars = [
        harness.Bar(f"{split}: BTG-N, {of}", worst["test cky"], CKY_BAR, " %"),
        harness.Bar(f"{split}: BTG-1, {of}", worst["test flat"], BARS[split, "flat"], " %"),
        harness.Bar(f"{split}: posterior trees, {of}", worst["posterior_trees"], TREE_BAR, " %"),
        harness.Bar(f"{split}: prior behind it, {of}", behind, PRIOR_BAR, " points", False),
    ]
    if seconds:
        minutes = max(seconds) / 60
        bars.append(harness.Bar(f"{split}: CPU time, {of}", minutes, MINUTES_BAR, " min", False))
    return bars


HEADER = ["split", "system", "seeds", "steps", "BTG-1 / flat", "BTG-N"]
HEADER += ["posterior trees", "prior trees", "coincidences", "CPU min"]
NOTE = (
    "Percent of the test set translated exactly, and of the dev set's trees that are right at "
    "three phrases: median of the seeds, and the worst in brackets. A seed is that of data and "
    "model. Phrases have 1 to 8 tokens; sizes are the paper's. With the paper's estimator there "
    "are fewer steps. Coincidences: recombined sentences whose source is of the dev or test set, "
    "all thrown away; of how many that were made."
)


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("svo_sov", __doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first_seed", type=int, default=0)
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--splits", nargs="+", choices=get_args(Split), default=get_args(Split))
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side, a thread each")
    parser.add_argument("--directory", type=Path, default=Path("results/svo_sov"))
    parser.add_argument("--report", action="store_true", help="only report the results so far")
    parser.add_argument("--readme", type=Path, help="write the short table into this file")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # system, split, seed
    return parser.parse_args()


def run_in_process(directory: Path, job: tuple[str, str, int]) -> None:
    """Run one job in a process of its own."""
    name = "-".join(map(str, job))
    command = [sys.executable, "-m", "benchmarks.svo_sov", "--directory", str(directory)]
    with open(directory / f"{name}.log", "w", encoding="utf-8") as log:
        done = subprocess.run([*command, "--one", *map(str, job)], stdout=log, stderr=log)
    print(f"{name}: {'done' if done.returncode == 0 else f'failed, see {log.name}'}")


def main() -> int:
    """Run what is missing, print and write the table; 1 if a run failed or a bar is missed."""
    options = parse_arguments()
    harness.begin(options, "svo_sov")
    if options.readme:
        harness.check_section(options.readme, summary.SECTION)
    options.directory.mkdir(parents=True, exist_ok=True)
    if options.one:
        system, split, seed = options.one
        name = f"{system}-{split}-{seed}"
        result = run(system, split, int(seed), options.directory / name)
        harness.write_json(options.directory / f"{name}.json", result)
        return 0
    jobs = [
        (system, split, seed)
        for system in options.systems
        for seed in range(options.first_seed, options.first_seed + options.seeds)
        for split in options.splits
    ]
    paths = {job: options.directory / f"{'-'.join(map(str, job))}.json" for job in jobs}
    if not options.report:
        # Not in threads: to read a configuration changes the working directory for a moment.
        missing = [job for job, path in paths.items() if not is_done(path, job)]
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda job: run_in_process(options.directory, job), missing))
    done = [path for job, path in paths.items() if is_done(path, job)]
    results = [json.loads(path.read_text(encoding="utf-8")) for path in done]
    if options.readme:
        summary.write_summary(options.readme, results)
    rows, bars = table(sorted(results, key=lambda each: each["seed"]))
    revisions = sorted({each["revision"] for each in results})
    note = f"{NOTE} Trained at revision {', '.join(revisions)}."
    report = harness.Report("svo_sov", note, HEADER, rows, bars)
    verdict = report.write(options, results=results)
    return verdict if len(done) == len(jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
