"""Files that are not what was written are named."""

import json
import os

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import MANIFEST_FILE, replace_files, verify_files, write_manifest


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "weights").write_bytes(bytes(1000))
    (tmp_path / "config").write_text("{}")
    (tmp_path / ".hidden").write_text("")
    write_manifest(tmp_path)
    return tmp_path


def test_untouched_files_pass(directory):
    verify_files(directory)
    verify_files(directory, exact=True)
    listed = json.loads((directory / MANIFEST_FILE).read_text())
    assert listed["files"].keys() == {"config", "weights"}
    assert listed["written_by"].startswith("btg-seq2seq ")


def test_only_some_files(directory):
    write_manifest(directory, ["conf*", "nothing*"])
    (directory / "weights").write_text("other")
    verify_files(directory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "weights is missing"),
        (lambda path: path.write_bytes(b""), "weights is damaged: it has 0 bytes"),
        (lambda path: path.write_bytes(bytes(999)), "has 999 bytes and was written with 1000"),
        (lambda path: path.write_bytes(bytes(999) + b"\1"), "not the file that was written"),
    ],
)
def test_changed_files_are_named(directory, change, message):
    change(directory / "weights")
    with pytest.raises(UserError, match=message):
        verify_files(directory)


def test_strangers_are_named(directory):
    (directory / "pytorch_model.bin").write_bytes(b"")
    verify_files(directory)
    with pytest.raises(UserError, match=r"pytorch_model.bin does not belong there"):
        verify_files(directory, exact=True)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"files": []}',
        '{"files": {}}',
        '{"files": {"weights": 3}}',
        '{"files": {"weights": {"bytes": 1000}}}',
        '{"files": {"weights": {"bytes": "1000", "sha256": ""}}}',
        '{"files": {"../weights": {"bytes": 1000, "sha256": ""}}}',
    ],
)
def test_manifests_that_are_none(directory, content):
    (directory / MANIFEST_FILE).write_text(content)
    with pytest.raises(UserError, match=MANIFEST_FILE):
        verify_files(directory)


def test_files_are_replaced_with_their_checksums(directory):
    def write(place):
        (place / "config").write_text("new")
        (place / "more").write_text("more")

    (directory / "unlisted").write_text("")
    replace_files(directory, write)
    verify_files(directory)
    listed = json.loads((directory / MANIFEST_FILE).read_text())
    assert listed["files"].keys() == {"config", "more", "weights"}
    assert (directory / "config").read_text() == "new"
    assert {path.name for path in directory.iterdir()} == {
        *("config", "more", "weights", "unlisted", ".hidden", MANIFEST_FILE)
    }


def test_a_failure_replaces_nothing(directory):
    def write(place):
        (place / "config").write_text("new")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        replace_files(directory, write)
    verify_files(directory, exact=True)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_interruption_leaves_files_that_can_be_used(directory, monkeypatch, failing):
    calls, swap = [], os.replace

    def stop(*paths):
        calls.append(paths)
        if len(calls) > failing:
            raise KeyboardInterrupt
        swap(*paths)

    monkeypatch.setattr("btg_seq2seq.manifest.os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        replace_files(directory, lambda place: (place / "config").write_text("new") and None)
    verify_files(directory)


def test_without_a_manifest(tmp_path):
    replace_files(tmp_path, lambda place: (place / "config").write_text("new") and None)
    assert [path.name for path in tmp_path.iterdir()] == ["config"]
