"""German to English: training sets of three sizes, the same dev and test sets."""

import pytest

from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.text import write_lines


@pytest.mark.parametrize("name", ["de-en/500", "de-en/1000", "de-en/4978", "de-en/500/mbart"])
def test_sizes(name, tmp_path):
    task = TASKS[name]
    size = int(name.split("/")[1])
    for file in task.files:
        write_lines(tmp_path / file.name, [file.name])
    sets = task.bitexts(tmp_path, unchecked=True)
    assert sets["train"].source == [f"train{size}.de"]
    assert sets["dev"].target == ["dev.en"]
    assert {file.name: file.lines for file in task.files}[f"train{size}.en"] == size
    assert ("mBART" in task.description) == name.endswith("mbart")
