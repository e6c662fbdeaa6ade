"""Comparisons with the baseline are added to results once both are there."""

from types import SimpleNamespace

from tiny_reproduction import TASK

from btg_seq2seq.tasks.reproduction.comparing import compare, translation_file
from btg_seq2seq.tasks.reproduction.results import Job, read_result, write_result
from btg_seq2seq.tasks.systems import SYSTEMS
from btg_seq2seq.text import Bitext, write_lines

REFERENCES = [f"the dog number {number} sleeps" for number in range(30)]
SETS = {"test": Bitext(REFERENCES, REFERENCES)}


def put(tmp_path, system, texts, bleu, modes, name="test"):
    job = Job(TASK, SYSTEMS[system], 0)
    scores = {"bleu": bleu, "chrf": bleu, "exact_match": bleu, "right": bleu}
    result = {"task": "tiny", "system": system, "seed": 0, "steps": 6, "parameters": {}}
    result |= {"cpu_seconds": {}, "config": {}}
    result["modes"] = {mode: {"sets": {name: {"scores": scores}}} for mode in modes}
    write_result(job.result(tmp_path / "results"), result)
    for mode in modes:
        write_lines(translation_file(job.directory(tmp_path), name, mode), texts)
    return job


def test_p_values_are_added_once(tmp_path):
    wrong = ["something else altogether"] * 20 + REFERENCES[20:]
    job = put(tmp_path, "taught", REFERENCES, 100.0, ["flat", "cky"])
    results = tmp_path / "results"
    assert not compare(job, tmp_path, results, SETS, {})  # there is no baseline
    base = put(tmp_path, "seq2seq", wrong, 30.0, ["flat"])
    assert compare(job, tmp_path, results, SETS, {})
    found = read_result(job.result(results))["comparisons"]
    assert {mode: one["mode"] for mode, one in found.items()} == {"flat": "flat", "cky": "flat"}
    assert found["cky"]["p"]["test"]["bleu"] < 0.01
    assert found["cky"]["gain"]["test"]["bleu"] == 70.0
    assert not compare(job, tmp_path, results, SETS, {})  # nothing has changed
    assert not compare(base, tmp_path, results, SETS, {})
    put(tmp_path, "seq2seq", REFERENCES, 100.0, ["flat"])
    assert compare(job, tmp_path, results, SETS, {})
    found = read_result(job.result(results))["comparisons"]
    assert found["flat"]["p"]["test"]["bleu"] == 1.0


def test_judged_sets_are_compared_by_verdicts(tmp_path):
    def judge(lines):
        right = [line == "good" for line in lines]
        return SimpleNamespace(right=right, values={"right": 100 * sum(right) / len(right)})

    put(tmp_path, "seq2seq", ["bad"] * 25 + ["good"] * 5, 17.0, ["flat"])
    job = put(tmp_path, "taught", ["good"] * 30, 100.0, ["flat"])
    assert compare(job, tmp_path, tmp_path / "results", SETS, {"test": judge})
    found = read_result(job.result(tmp_path / "results"))["comparisons"]["flat"]
    assert list(found["p"]["test"]) == ["right"]
    assert found["p"]["test"]["right"] < 0.01
