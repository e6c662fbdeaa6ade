"""ML50: four languages to English, from two backbones."""

import pytest
from checks import refused

from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.text import write_lines

CODES = {"mn": "mn_MN", "mr": "mr_IN", "az": "az_AZ", "bn": "bn_IN"}


@pytest.mark.parametrize("language", CODES)
@pytest.mark.parametrize("backbone", ["mt5", "mbart50"])
def test_languages(language, backbone, tmp_path):
    task = TASKS[f"ml50/{language}-en/{backbone}"]
    for file in task.files:
        write_lines(tmp_path / file.name, [file.name])
    sets = task.bitexts(tmp_path, unchecked=True)
    assert sets["test"].source == [f"test.{language}"]
    assert sets["test"].target == ["test.en"]
    expected = {"model.source_language": CODES[language]} if backbone == "mbart50" else {}
    assert task.changes == expected


def test_sizes_are_those_of_the_paper(tmp_path):
    task = TASKS["ml50/bn-en/mt5"]
    for file in task.files:
        write_lines(tmp_path / file.name, ["line"] * file.lines)
    assert len(task.bitexts(tmp_path)["test"]) == 216
    write_lines(tmp_path / "test.bn", ["line"])
    with refused("test.bn has 1 lines, not 216"):
        task.bitexts(tmp_path)
