"""``btg report`` as a user types it, on a run of ``btg train``."""

import pytest
from made_up_runs import made_up_run
from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq.cli.main import main
from btg_seq2seq.evaluation.dev_examples import DevExamples
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.training.run import train


def test_a_run_of_both_modes(tmp_path, capsys):
    config = tiny_config(tmp_path / "run", steps=4, eval_every=2)
    modes = ["flat", "cky"]
    train(
        config,
        bitexts=tiny_bitexts(),
        metrics=DevMetrics(2, modes=modes),
        examples=DevExamples(2, modes),
        quiet=True,
    )
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "run"), "--output", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    text = page.read_text()
    for part in ("BLEU, cky", "step 4", "Entropy of trees", "transformers", "10 pairs"):
        assert part in text
    assert text.count('role="img"') > 10


def test_what_goes_wrong_is_one_line(tmp_path, capsys):
    run = str(made_up_run(tmp_path / "run"))
    for arguments, status, message in (
        ([], 2, "RUN is missing"),
        ([run, "--output", "page.png"], 2, "ends in .html"),
        ([run, "--theme", "pink"], 2, "theme"),
        ([str(tmp_path)], 1, "holds no training run"),
        ([run, run, "--output", str(tmp_path / "a.html")], 1, "given twice"),
    ):
        assert main(["report", *arguments]) == status
        shown = capsys.readouterr().err
        assert message in shown
        assert shown.count("\n") == 1


@pytest.mark.parametrize("quiet", [True, False])
def test_damaged_lines_are_noted(tmp_path, capsys, quiet, monkeypatch):
    monkeypatch.chdir(tmp_path)
    directory = made_up_run(tmp_path / "run")
    (directory / "metrics.jsonl").write_text('{"step": 1, "loss": 1}\n{"st')
    assert main(["report", str(directory), *(["--quiet"] if quiet else [])]) == 0
    assert (tmp_path / "report.html").exists()
    shown = capsys.readouterr()
    assert ("metrics.jsonl: 1 line cannot be read" in shown.err) != quiet
    assert (shown.out == "") == quiet
