"""Tasks: missing files are named before anything is read."""

from checks import refused

from btg_seq2seq.tasks.data_files import DataFile
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.text import Bitext


def test_files_and_seeds(tmp_path):
    def make(directory, seed):
        return {"test": Bitext([directory.name], [str(seed)])}

    generated = Task("generated", "needs no files", make)
    assert generated.bitexts(seed=3)["test"].target == ["3"]
    task = Task("files", "needs two files", make, files=("a.txt", DataFile("b.txt", 2)))
    (tmp_path / "a.txt").touch()
    with refused("the files of files", str(tmp_path), "b.txt missing"):
        task.bitexts(tmp_path)
    (tmp_path / "b.txt").touch()
    with refused("b.txt has 0 lines, not 2"):
        task.bitexts(tmp_path)
    assert task.bitexts(str(tmp_path), unchecked=True)["test"].source == [tmp_path.name]
