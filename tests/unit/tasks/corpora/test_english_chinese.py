"""English to Chinese: few-shot splits, and CoGnition with its judge of compounds."""

from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.text import write_lines


def test_few_shot(tmp_path):
    task = TASKS["en-zh/vp"]
    for file in task.files:
        write_lines(tmp_path / file.name, [file.name])
    assert task.bitexts(tmp_path, unchecked=True)["train"].target == ["train.zh"]
    assert task.paper["fast-align"] == 42.0
    assert task.tokenize == "zh"


def test_cognition_judges_compounds(tmp_path):
    task = TASKS["cognition-20k"]
    for file in task.files:
        write_lines(tmp_path / file.name, ["line", "line"])
    write_lines(tmp_path / "cg-test.compound", ["the dog", "the dog"])
    write_lines(tmp_path / "cg-test.kind", ["NP", "NP"])
    write_lines(tmp_path / "lexicon.tsv", ["the\t/", "dog\t狗/犬"])
    sets = task.bitexts(tmp_path, unchecked=True)
    assert list(sets) == ["train", "dev", "test", "cg-test"]
    found = task.judges["cg-test"](tmp_path)(["小狗", "猫"])
    assert found.right == [True, False]
    assert next(iter(found.values.items())) == ("compound_accuracy", 50.0)
