"""Paired bootstrap: clear differences are significant, chance is not, and numbers repeat."""

import numpy as np
from checks import refused

from btg_seq2seq.evaluation.significance import paired_bootstrap, paired_verdicts

REFERENCES = [f"the {noun} of sentence number {place}" for place in range(60) for noun in ("dog",)]


def spoiled(every):
    return [
        "nothing of the kind at all" if place % every == 0 else text
        for place, text in enumerate(REFERENCES)
    ]


def test_a_clear_difference_is_significant():
    values = paired_bootstrap(spoiled(2), spoiled(20), REFERENCES, "13a", 200)
    assert set(values) == {"bleu", "chrf", "exact_match"}
    assert all(value < 0.02 for value in values.values())
    assert values == paired_bootstrap(spoiled(2), spoiled(20), REFERENCES, "13a", 200)


def test_the_seed_of_another_program_changes_nothing(monkeypatch):
    values = paired_bootstrap(spoiled(3), spoiled(4), REFERENCES, "13a", 100)
    monkeypatch.setenv("SACREBLEU_SEED", "1")
    assert values == paired_bootstrap(spoiled(3), spoiled(4), REFERENCES, "13a", 100)


def test_chance_is_not_significant():
    values = paired_bootstrap(spoiled(7), spoiled(8), REFERENCES, "13a", 200)
    assert min(values.values()) > 0.05


def test_equal_scores_are_no_difference():
    values = paired_bootstrap(spoiled(7), spoiled(7), REFERENCES, "13a", 100)
    assert set(values.values()) == {1.0}


def test_verdicts_agree_with_the_definition():
    """The statistic and its centring are those of sacreBLEU, drawn with the same seed."""
    random = np.random.default_rng(0)
    baseline, system = random.random((2, 80)) < np.array([[0.5], [0.65]])
    rows = np.random.default_rng(12345).choice(80, size=(500, 80), replace=True)
    differences = np.abs(system[rows].mean(1) - baseline[rows].mean(1))
    real = abs(system.mean() - baseline.mean())
    expected = (np.sum(differences - differences.mean() > real + 1e-9) + 1) / 501
    found = paired_verdicts(baseline.tolist(), system.tolist(), 500)
    assert abs(found - expected) < 0.01


def test_different_numbers_of_lines():
    with refused("1 and 2 translations cannot be compared by 1"):
        paired_bootstrap(["a"], ["a", "b"], ["a"], "13a")
