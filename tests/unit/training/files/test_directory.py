"""What a run may find, write and remove in its directory."""

import pytest
from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import verify_files
from btg_seq2seq.training.files.directory import check_directory, prepare_directory, put_model


def test_a_new_directory(tmp_path):
    config, bitexts = tiny_config(tmp_path / "run"), tiny_bitexts()
    check_directory(tmp_path / "run", config, bitexts, resume=False, overwrite=False)
    prepare_directory(tmp_path / "run", config, bitexts, overwrite=False)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"config.yaml", "data.json"}


def test_a_model_that_is_no_run_is_not_touched(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"precious")
    config, bitexts = tiny_config(tmp_path), tiny_bitexts()
    for resume in (False, True):
        with pytest.raises(UserError, match="not a run that could be resumed"):
            check_directory(tmp_path, config, bitexts, resume, overwrite=False)


def test_overwriting_removes_only_what_a_run_writes(tmp_path):
    for name in ("model.safetensors", "metrics.jsonl", "notes.txt"):
        (tmp_path / name).write_text("old")
    config, bitexts = tiny_config(tmp_path), tiny_bitexts()
    check_directory(tmp_path, config, bitexts, resume=False, overwrite=True)
    prepare_directory(tmp_path, config, bitexts, overwrite=True)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"notes.txt", "config.yaml", "data.json"}


def test_what_is_read_is_not_overwritten(tmp_path):
    config = tiny_config(tmp_path)
    config.model.init_from = str(tmp_path / "part")
    (tmp_path / "part").mkdir()
    with pytest.raises(UserError, match="--overwrite would remove"):
        check_directory(tmp_path, config, tiny_bitexts(), resume=False, overwrite=True)


def test_a_model_is_put_with_its_manifest(tmp_path):
    def save(directory):
        from pathlib import Path

        Path(directory).mkdir()
        (Path(directory) / "model.safetensors").write_text("weights")
        (Path(directory) / "config.json").write_text("{}")

    put_model(tmp_path, save)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"model.safetensors", "config.json", "manifest.json"}
    verify_files(tmp_path)
