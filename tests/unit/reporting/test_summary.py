"""A run in a few figures."""

from made_up_runs import SETTINGS, made_up_run

from btg_seq2seq.reporting.run_files import read_run
from btg_seq2seq.reporting.summary import best_evaluation, marks_of, run_card, status


def test_a_finished_run(tmp_path):
    run = read_run(made_up_run(tmp_path))
    assert status(run) == "finished, step 400 of 400; best bleu 40 at step 400"
    assert marks_of(run) == [(100, "the parsers learn"), (300, "sentences are recombined")]
    card = run_card(run, 0)
    for part in ("dev loss", "BLEU, flat", "BLEU, cky", "right trees"):
        assert f"<dt>{part}</dt>" in card


def test_the_best_loss_after_the_parsers_learn(tmp_path):
    entries = [{"step": step, "eval_loss": loss} for step, loss in ((100, 1), (200, 3), (300, 3))]
    settings = SETTINGS | {"optimisation": {"steps": 900}}
    run = read_run(made_up_run(tmp_path, settings, finished=False, entries=entries))
    assert best_evaluation(run) == ("loss", 300, 3.0)
    assert status(run).startswith("not finished, step 300 of 900; best loss 3")


def test_nothing_yet(tmp_path):
    run = read_run(made_up_run(tmp_path, finished=False, entries=[]))
    assert status(run) == "nothing was logged yet"
    assert best_evaluation(run) is None
    assert marks_of(run) == []


def test_a_plain_run_waits_for_no_parsers(tmp_path):
    settings = {"objective": {"flat_weight": 1.0, "uniform_steps": 100}}
    assert marks_of(read_run(made_up_run(tmp_path, settings))) == []
