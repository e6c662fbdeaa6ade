"""Cherokee and English: both directions read the same files."""

from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.text import write_lines


def test_both_directions(tmp_path):
    assert TASKS["chr-en"].files == TASKS["en-chr"].files
    for file in TASKS["chr-en"].files:
        write_lines(tmp_path / file.name, [file.name])
    there, back = (
        TASKS[name].bitexts(tmp_path, unchecked=True)["dev"] for name in ("chr-en", "en-chr")
    )
    assert (there.source, there.target) == (back.target, back.source) == (["dev.chr"], ["dev.en"])
    assert "14.5" in TASKS["chr-en"].paper_table  # Moses
