"""English to Japanese: the sets are read from their files."""

from checks import refused

from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.text import write_lines


def test_sets_are_read(tmp_path):
    task = TASKS["en-ja"]
    for file in task.files:
        write_lines(tmp_path / file.name, [f"{file.name} 1", "2"])
    sets = task.bitexts(tmp_path, unchecked=True)
    assert list(sets) == ["train", "dev", "test"]
    assert sets["dev"].source[0] == "dev.en 1"
    assert sets["test"].target[0] == "test.ja 1"
    with refused("train.en has 2 lines, not 10000", "test.ja has 2 lines, not 500", "odashi"):
        task.bitexts(tmp_path)
