"""Significance of the differences between a system and the baseline of the same seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from btg_seq2seq.evaluation.bleu_tokenizers import tokenizer_for
from btg_seq2seq.evaluation.significance import paired_bootstrap, paired_verdicts
from btg_seq2seq.tasks.reproduction.results import Job, read_result, write_result
from btg_seq2seq.tasks.systems import BASELINE, PRETRAINED_BASELINE, SYSTEMS
from btg_seq2seq.tasks.task import Judge
from btg_seq2seq.text import Bitext, read_lines

FLAT, TRANSLATIONS = "flat", "translations"
# Fields of a result, by what it is compared with.
COMPARISONS = {BASELINE: "comparisons", PRETRAINED_BASELINE: "fast_align_comparisons"}


def translation_file(directory: Path, name: str, mode: str) -> Path:
    """File of the translations of a set."""
    return directory / TRANSLATIONS / f"{name}.{mode}.txt"


def compare(
    job: Job,
    output: Path,
    results: Path,
    sets: Mapping[str, Bitext],
    judges: Mapping[str, Judge],
    baseline: str = BASELINE,
) -> bool:
    """Add p-values against a baseline to a result, if both are there; tell whether it did."""
    path = job.result(results)
    base = Job(job.task, SYSTEMS[baseline], job.seed)
    if job.system is base.system or not path.exists() or not base.result(results).exists():
        return False
    result, other = read_result(path), read_result(base.result(results))
    known: dict[str, Any] = result.get(COMPARISONS[baseline], {})
    found: dict[str, Any] = {}
    for mode in result["modes"]:
        base_mode = mode if mode in other["modes"] else FLAT
        texts = {
            name: [
                translation_file(one.directory(output), name, each)
                for one, each in ((base, base_mode), (job, mode))
            ]
            for name in sets
        }
        texts = {name: files for name, files in texts.items() if all(one.exists() for one in files)}
        before = known.get(mode, {})
        mark = _fingerprint([file for files in texts.values() for file in files])
        if texts and before.get("fingerprint") == mark:
            found[mode] = before
            continue
        p: dict[str, dict[str, float]] = {}
        gains: dict[str, dict[str, float]] = {}
        for name in sets:
            if name in texts:
                lines = [read_lines(file) for file in texts[name]]
                values = _p_values(lines, sets[name], judges.get(name), job)
            elif name in before.get("p", {}):  # the translations are gone
                values = before["p"][name]
            else:
                continue
            own, others = (
                one["modes"][each]["sets"][name]["scores"]
                for one, each in ((result, mode), (other, base_mode))
            )
            gain = {metric: own[metric] - others[metric] for metric in values}
            if name in texts or gain == before["gain"][name]:  # still those of the same scores
                p[name], gains[name] = values, gain
        if p:
            mark = mark if texts else before["fingerprint"]
            compared = {"system": baseline, "mode": base_mode, "fingerprint": mark}
            found[mode] = {**compared, "p": p, "gain": gains}
    if found == known:
        return False
    write_result(path, {**result, COMPARISONS[baseline]: found})
    return True


def _p_values(
    lines: Sequence[Sequence[str]], pairs: Bitext, judge: Judge | None, job: Job
) -> dict[str, float]:
    if judge is not None:  # BLEU says little of sentences that differ in a phrase
        verdicts = [judge(one) for one in lines]
        name = next(iter(verdicts[0].values))
        return {name: paired_verdicts(verdicts[0].right, verdicts[1].right)}
    tokenize = job.task.tokenize or tokenizer_for(pairs.target)
    return paired_bootstrap(lines[0], lines[1], pairs.target, tokenize)


def _fingerprint(files: Sequence[Path]) -> str:
    """Short checksum of translations, to see whether they have changed."""
    content = hashlib.sha256()
    for file in files:
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()[:16]
