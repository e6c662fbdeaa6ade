"""Checkpoints are complete or not there; the best, the last and those to be averaged are kept."""

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import save_file
from torch import nn

from btg_seq2seq.errors import UserError
from btg_seq2seq.training.files.checkpoints import Checkpoints, average, load_weights, put_weights


def write(checkpoints, step, value=0.0):
    with checkpoints.writing(step, Accelerator(cpu=True)) as directory:
        save_file({"weight": torch.full((2,), value)}, directory / "model.safetensors")


def test_a_checkpoint_appears_when_it_is_complete(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    assert (checkpoints.steps, checkpoints.last) == ([], None)
    with pytest.raises(KeyError), checkpoints.writing(3, Accelerator(cpu=True)):
        raise KeyError
    assert checkpoints.steps == []
    write(checkpoints, 3)
    assert checkpoints.steps == [3]
    assert checkpoints.verify_last() == checkpoints.path(3)
    assert [path.name for path in checkpoints.folder.iterdir()] == ["step-3"]


def test_what_is_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, every=2, keep=2)
    for step in (2, 3, 4, 6, 7):
        write(checkpoints, step)
    assert checkpoints.averaged(3) == [4, 6, 7]
    checkpoints.prune(best=3)
    assert checkpoints.steps == [3, 6, 7]
    checkpoints.prune(best=None)
    assert checkpoints.steps == [6, 7]


def test_a_damaged_checkpoint_is_named_with_a_way_out(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    write(checkpoints, 1)
    (checkpoints.path(1) / "model.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"step-1/model.safetensors is damaged.*--overwrite"):
        checkpoints.verify_last()
    write(checkpoints, 2)
    checkpoints.verify_last()
    (checkpoints.path(2) / "stranger").write_text("")
    with pytest.raises(UserError, match=r"stranger does not belong there.*go on from step 1"):
        checkpoints.verify_last()


def test_the_mean_of_weights(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for step, value in ((1, 1.0), (2, 4.0)):
        write(checkpoints, step, value)
    mean = average([checkpoints.path(step) for step in (1, 2)])
    assert mean["weight"].tolist() == [2.5, 2.5]
    (checkpoints.path(1) / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(UserError, match="no weights can be read"):
        load_weights(checkpoints.path(1))


def test_weights_of_another_model_are_refused():
    model = nn.Linear(1, 2, bias=False)
    put_weights(model, {"weight": torch.ones(2, 1)})
    assert model.weight.tolist() == [[1.0], [1.0]]
    for weights in ({}, {"weight": torch.ones(2, 1), "other": torch.ones(1)}):
        with pytest.raises(UserError, match="not those of this model"):
            put_weights(model, weights)
