"""Tuning takes what translates the dev set best, in the task's metric."""

from dataclasses import replace
from types import SimpleNamespace

from tiny_reproduction import TASK

from btg_seq2seq.tasks.reproduction.tuning import score_of, tune
from btg_seq2seq.text import Bitext

DEV = Bitext(["a"], ["the dog sleeps in the garden"])


class Fake:
    """Long translations where they are ranked by length."""

    def translate(self, texts, mode, length_normalised):
        text = "the dog sleeps in the garden" if length_normalised else "the dog"
        return [SimpleNamespace(text=text) for _ in texts]


def test_the_better_settings_are_taken():
    said = []
    found = tune(Fake(), DEV, "flat", TASK, said.append)
    assert found.settings == {"length_normalised": True}
    assert found.score == score_of(TASK, DEV.target, DEV.target) > 99
    assert len(said) == 2
    assert "BLEU 100.00" in said[1]


def test_equal_settings_are_the_first():
    found = tune(Fake(), replace(DEV, target=["none of it"]), "flat", TASK)
    assert found.settings == {"length_normalised": False}
