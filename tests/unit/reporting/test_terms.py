"""Terms: every one that is logged has a place in a report."""

from pathlib import Path

import pytest
from made_up_runs import made_up_run

from btg_seq2seq.reporting.run_files import read_run
from btg_seq2seq.reporting.terms import KNOWN, base_name, other_terms, score_names

PAGE = (Path(__file__).parents[3] / "docs/training.md").read_text()


def test_every_explained_term_is_known():
    table = PAGE.partition("| term | meaning |")[2].partition("\n\n")[0]
    names = {name for row in table.splitlines() for name in row.split("|")[1:2]}
    named = {one.strip(" `") for row in names for one in row.split(",")} - {"", ":--"}
    scores = {name for name in named if base_name(name) in ("bleu", "chrf", "exact_match", "trees")}
    assert len(scores) >= 8
    assert named - scores - KNOWN == set()


@pytest.mark.parametrize(
    ("name", "base"),
    [("bleu", "bleu"), ("cky_bleu", "bleu"), ("prior_trees", "trees"), ("posterior", "posterior")],
)
def test_base_names(name, base):
    assert base_name(name) == base


def test_scores_and_others(tmp_path):
    entries = [{"step": 1, "loss": 1.0, "mine": 2.0, "eval_wer": 3.0, "eval_cky_chrf": 1.0}]
    run = read_run(made_up_run(tmp_path, entries=entries))
    assert score_names([run]) == ["chrf", "wer"]
    assert [term.name for term in other_terms([run])] == ["mine"]
