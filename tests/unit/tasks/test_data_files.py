"""Files of a task: all that is missing or differs is in one message."""

import hashlib

import pytest
from checks import refused

from btg_seq2seq.errors import UserError
from btg_seq2seq.tasks.data_files import DataFile, check_files, pair_files, read_pairs

CONTENT = "one\ntwo\n"
SUM = hashlib.sha256(CONTENT.encode()).hexdigest()
FILES = (DataFile("a.en", 2, SUM), DataFile("b.en", 2), DataFile("c.en"), "d.en")


def test_the_right_files(tmp_path):
    for name in "abcd":
        (tmp_path / f"{name}.en").write_text(CONTENT)
    check_files("task", tmp_path, FILES)


def test_everything_amiss_in_one_message(tmp_path):
    (tmp_path / "a.en").write_text("one\nother\n")
    (tmp_path / "b.en").write_text("one\n")
    with pytest.raises(UserError) as error:
        check_files("task", tmp_path, FILES, "example.org")
    message = str(error.value)
    assert "\n" not in message
    other = hashlib.sha256(b"one\nother\n").hexdigest()
    for part in (
        f"{tmp_path} does not have the files of task: c.en, d.en missing",
        "b.en has 1 lines, not 2",
        f"a.en has the SHA-256 checksum {other[:12]}..., not {SUM[:12]}...",
        "To get them: example.org",
        "--unchecked",
    ):
        assert part in message


def test_other_versions_are_accepted_on_demand_but_not_missing_files(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.en").write_text("something else")
    with refused("d.en missing"):
        check_files("task", tmp_path, FILES, unchecked=True)
    (tmp_path / "d.en").touch()
    check_files("task", tmp_path, FILES, unchecked=True)


def test_a_directory_that_is_not_there(tmp_path):
    with refused("there is no directory", str(tmp_path / "none"), "example.org"):
        check_files("task", tmp_path / "none", FILES, "example.org")
    check_files("generated", tmp_path / "none", ())


def test_pairs_of_files(tmp_path):
    files = pair_files("en", "ja", {"train": 2, "dev": 1}, {"dev.ja": "sum"})
    assert [file.name for file in files] == ["train.en", "train.ja", "dev.en", "dev.ja"]
    assert [file.sha256 for file in files] == [None, None, None, "sum"]
    for name in ("x.en", "x.ja"):
        (tmp_path / name).write_text(CONTENT)
    assert read_pairs(tmp_path, {"dev": ("x.en", "x.ja")})["dev"].target == ["one", "two"]
