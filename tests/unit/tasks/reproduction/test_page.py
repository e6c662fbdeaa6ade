"""The page of results: means of seeds, p-values, the paper's numbers, and what is missing."""

import pytest

from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.tasks.reproduction.page import NOTHING, overview, page, write_page
from btg_seq2seq.tasks.reproduction.results import write_result
from btg_seq2seq.tasks.systems import SYSTEMS


def result(task, system, seed, bleu, comparisons=None, sets=("test",), **more):
    scores = {"bleu": bleu, "chrf": bleu / 2, "exact_match": 0.0}
    scores |= {"compound_accuracy": bleu + 1} if "cg-test" in sets else {}
    found = {name: {"scores": scores, "signatures": {"bleu": "sig"}} for name in sets}
    modes = ["flat", "cky"] if SYSTEMS[system].has_grammar else ["flat"]
    return {
        "task": task,
        "system": system,
        "seed": seed,
        "unchecked": False,
        "sentences": {"train": 1000, "dev": 10, "test": 10},
        "steps": 2500,
        "parameters": {"model": 3_400_000},
        "cpu_seconds": {"training": 600.0, "tuning flat": 99},
        "config": {},
        "modes": {
            mode: {"settings": {}, "dev": {"bleu": bleu - 1}, "sets": found} for mode in modes
        },
        "comparisons": comparisons or {},
        **more,
    }


def compared(p, gain):
    return {
        mode: {"p": {"test": {"bleu": p}, "cg-test": {"compound_accuracy": p}},
               "gain": {"test": {"bleu": gain}, "cg-test": {"compound_accuracy": gain}}}
        for mode in ("flat", "cky")
    }  # fmt: skip


@pytest.fixture
def put(tmp_path):
    def put(task, system, seed, *values, **more):
        path = tmp_path / task / f"{system}-{seed}.json"
        write_result(path, result(task, system, seed, *values, **more))

    return put


def rows(text):
    return [line for line in text.splitlines() if line.startswith("|")][2:]


def test_without_results_the_page_says_what_is_missing(tmp_path):
    text = page(tmp_path)
    assert "No results yet." in text
    assert all(f"`btg reproduce {name}" in text for name in TASKS)
    elsewhere, not_run = text.split("## Not run yet")
    assert "[docs/benchmarks.md](benchmarks.md) has results" in elsewhere
    assert "svo-sov" not in not_run


def test_a_table(tmp_path, put):
    put("chr-en", "seq2seq", 0, 9.0)
    put("chr-en", "seq2seq", 1, 10.0)
    put("chr-en", "taught", 0, 12.0, compared(0.001, 3.0))
    put("chr-en", "taught", 1, 14.0, compared(0.01, 4.0))
    put("chr-en", "robust", 0, 8.0, compared(0.03, -1.0))
    put("chr-en", "fast-align", 0, 9.0, pretraining_steps=100)
    text = page(tmp_path)
    base, fast, robust, _, flat, cky = rows(text)
    expected = "| seq2seq | flat | 0, 1 | 8.50 (8.00 to 9.00) | 9.50 (9.00 to 10.00) "
    assert base == expected + "| 4.75 (4.50 to 5.00) |  | 9.1 | 2,500 | 3.4 M | 10 |"
    assert "| 10.3 | 100 + 2,500 |" in fast
    assert "| 0.030, lower | 11.2 |" in robust
    assert "| 13.00 (12.00 to 14.00) | 6.50 (6.00 to 7.00) | **0.010** | 11.2 |" in flat
    assert "| **0.010** | 13.6 |" in cky
    assert "Signatures: BLEU `sig`" in text
    assert "Moses has 14.5" in text
    assert "`btg reproduce chr-en" not in text
    write_page(tmp_path, tmp_path / "results.md")
    assert (tmp_path / "results.md").read_text(encoding="utf-8") == text


def test_a_second_baseline_has_a_column(tmp_path, put):
    second = compared(0.02, 1.0)
    put("en-ja", "seq2seq", 0, 12.0)
    put("en-ja", "taught-phrases", 0, 14.0, compared(0.01, 2.0), fast_align_comparisons=second)
    text = page(tmp_path)
    assert "| p | p, Fast-Align | paper |" in text
    assert "| **0.010** | **0.020** |  |" in text


def test_a_judged_set_has_a_table_of_its_own(tmp_path, put):
    sets = ("test", "cg-test")
    put("cognition-20k", "seq2seq", 0, 30.0, sets=sets)
    put("cognition-20k", "taught", 0, 40.0, compared(0.2, 10.0), sets=sets)
    text = page(tmp_path)
    assert "`cg-test`:" in text
    assert "| BTG, lexical teacher | cky (BTG-N) | 0 | 41.00 | 0.200 | 40.00 |" in text


def test_seeds_without_a_baseline_are_counted(tmp_path, put):
    put("en-ja", "taught", 0, 12.0, compared(0.04, 3.0))
    put("en-ja", "taught", 1, 14.0, unchecked=True)
    text = page(tmp_path)
    assert "**0.040 of 1 seeds**" in text
    assert "may be other versions" in text


def test_processors_are_named_where_they_are_known(tmp_path, put):
    put("en-ja", "seq2seq", 0, 12.0)
    assert "CPU minutes on" not in page(tmp_path)
    put("en-ja", "seq2seq", 1, 12.0, processor="A 1")
    assert "CPU minutes on A 1, where it was recorded." in page(tmp_path)
    put("en-ja", "seq2seq", 0, 12.0, processor="B 2", preloaded=True)
    shown = page(tmp_path)
    assert "CPU minutes on A 1 and B 2. Some runs had libraries preloaded, which" in shown


def test_the_overview_has_a_line_for_each_test_set(tmp_path, put):
    assert overview(tmp_path) == NOTHING
    sets = ("test", "cg-test")
    put("cognition-20k", "seq2seq", 0, 30.0, sets=sets)
    put("cognition-20k", "seq2seq", 1, 99.0, sets=sets)  # no seed of ours
    put("cognition-20k", "taught", 0, 40.0, compared(0.02, 10.0), sets=sets)
    put("cognition-20k", "taught", 2, 99.0, sets=sets)
    put("en-ja", "seq2seq", 0, 12.0)
    assert rows(overview(tmp_path)) == [
        "| cognition-20k | BTG, lexical teacher | BLEU | 1 | 30.00 | **40.00** | **40.00** |  |",
        "| cognition-20k, cg-test | BTG, lexical teacher | compound accuracy | 1 | 31.00 "
        "| **41.00** | **41.00** |  |",
    ]


def test_a_seed_without_significance_is_not_bold(tmp_path, put):
    for seed, p in enumerate((0.01, 0.2)):
        put("en-ja", "seq2seq", seed, 12.0)
        put("en-ja", "taught", seed, 13.0 + seed, compared(p, 1.0))
    assert rows(overview(tmp_path)) == [
        "| en-ja | BTG, lexical teacher | BLEU | 2 | 12.00 | 13.50 | 13.50 |  |"
    ]
