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


def test_another_baseline(tmp_path):
    results = tmp_path / "results"
    job = put(tmp_path, "taught-phrases", REFERENCES, 100.0, ["flat"])
    put(tmp_path, "fast-align", REFERENCES, 100.0, ["flat"])
    assert not compare(job, tmp_path, results, SETS, {})
    assert compare(job, tmp_path, results, SETS, {}, "fast-align")
    result = read_result(job.result(results))
    assert "comparisons" not in result
    assert result["fast_align_comparisons"]["flat"]["p"]["test"]["bleu"] == 1.0


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


def test_p_values_outlive_the_translations(tmp_path):
    """Translations are large, and may be removed; results stay."""
    wrong = ["something else altogether"] * 20 + REFERENCES[20:]
    sets = {**SETS, "more": SETS["test"]}
    results = tmp_path / "results"

    def put_both(system, texts, bleu):
        job = put(tmp_path, system, texts, bleu, ["flat"])
        result = read_result(job.result(results))
        result["modes"]["flat"]["sets"]["more"] = result["modes"]["flat"]["sets"]["test"]
        write_result(job.result(results), {**result, "comparisons": found})
        write_lines(translation_file(job.directory(tmp_path), "more", "flat"), texts)
        return job

    found = {}
    base = put_both("seq2seq", wrong, 30.0)
    job = put_both("taught", REFERENCES, 100.0)
    assert compare(job, tmp_path, results, sets, {})
    found = read_result(job.result(results))["comparisons"]
    translation_file(base.directory(tmp_path), "more", "flat").unlink()
    compare(job, tmp_path, results, sets, {})
    now = read_result(job.result(results))["comparisons"]
    assert {**now["flat"], "fingerprint": ""} == {**found["flat"], "fingerprint": ""}
    translation_file(base.directory(tmp_path), "test", "flat").unlink()
    assert not compare(job, tmp_path, results, sets, {})
    put_both("seq2seq", wrong[::-1], 40.0)  # another model, of which the old p-values are not
    translation_file(base.directory(tmp_path), "more", "flat").unlink()
    assert compare(job, tmp_path, results, sets, {})
    assert read_result(job.result(results))["comparisons"]["flat"]["gain"].keys() == {"test"}


def test_p_values_of_a_replaced_baseline_are_dropped(tmp_path):
    """Even if the translations of the system itself are gone."""
    results = tmp_path / "results"
    put(tmp_path, "seq2seq", REFERENCES[::-1], 30.0, ["flat"])
    job = put(tmp_path, "taught", REFERENCES, 100.0, ["flat"])
    assert compare(job, tmp_path, results, SETS, {})
    translation_file(job.directory(tmp_path), "test", "flat").unlink()
    put(tmp_path, "seq2seq", REFERENCES, 40.0, ["flat"])
    assert compare(job, tmp_path, results, SETS, {})
    assert read_result(job.result(results))["comparisons"] == {}
