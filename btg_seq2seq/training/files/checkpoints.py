"""Checkpoints of a run: complete or not there, however the run ends.

A checkpoint is written under a name that nobody reads and renamed when it is complete. Kept are the
best, the last, and as many regular ones before it as will be averaged.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from accelerate import Accelerator  # type: ignore[import-untyped]
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import verify_files, write_manifest
from btg_seq2seq.opening import summary

FOLDER, NAME = "checkpoints", "step-"
UNFINISHED = ".unfinished-"  # what is being written or removed


class Checkpoints:
    """The checkpoints in ``directory``; those at multiples of ``every`` are the regular ones."""

    def __init__(self, directory: Path, every: int = 1, keep: int = 1) -> None:
        self.folder = directory / FOLDER
        self.every, self.keep = every, keep

    @property
    def steps(self) -> list[int]:
        """Steps of which there are checkpoints, ascending."""
        names = [path.name.removeprefix(NAME) for path in self.folder.glob(f"{NAME}*")]
        return sorted(int(name) for name in names if name.isdecimal())

    @property
    def last(self) -> Path | None:
        """The directory of the newest checkpoint."""
        steps = self.steps
        return self.path(steps[-1]) if steps else None

    def path(self, step: int) -> Path:
        """The directory of the checkpoint of a step."""
        return self.folder / f"{NAME}{step}"

    @contextmanager
    def writing(self, step: int, accelerator: Accelerator) -> Iterator[Path]:
        """A directory to write a checkpoint into, for all processes; then it is put in place."""
        unfinished = self.folder / f"{UNFINISHED}{step}"
        if accelerator.is_main_process:
            self.clean()
            unfinished.mkdir(parents=True)
        accelerator.wait_for_everyone()
        yield unfinished
        accelerator.wait_for_everyone()
        if accelerator.is_main_process and not self.path(step).exists():
            write_manifest(unfinished)
            os.rename(unfinished, self.path(step))
        accelerator.wait_for_everyone()

    def verify_last(self) -> Path | None:
        """The newest checkpoint, every file of it as it was written; or say which is not."""
        if self.last is None:
            return None
        try:
            verify_files(self.last, exact=True)
        except UserError as error:
            others = self.steps[:-1]
            way_out = f"remove {self.last} to go on from step {others[-1]}" if others else ""
            way_out = way_out or "start again with --overwrite"
            raise UserError(f"cannot resume: {error}; restore the file, or {way_out}") from error
        return self.last

    def prune(self, best: int | None) -> None:
        """Remove all but the best, the last, and the regular ones that will be averaged."""
        kept = {best, *self.averaged(self.keep), *self.steps[-1:]}
        for step in self.steps:
            if step not in kept:  # renamed first: half a checkpoint must not look like one
                os.rename(self.path(step), self.folder / f"{UNFINISHED}{step}")
        self.clean()

    def averaged(self, count: int) -> list[int]:
        """The last steps, at most ``count``; one saved by an interruption counts only as last."""
        steps = self.steps
        return [step for step in steps if step % self.every == 0 or step == steps[-1]][-count:]

    def clean(self) -> None:
        """Remove what a killed run has left unfinished."""
        for path in self.folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(path)


@contextmanager
def readable(path: str | Path | None) -> Iterator[None]:
    """Turn errors of reading a checkpoint into ``UserError``.

    Checksums are no protection: whoever hands us a checkpoint can write them too.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # a broken file may lead to any of them
        raise UserError(f"{path} was not written by a run: {summary(error)}") from error


def average(directories: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints, added up in double precision."""
    sums: dict[str, Tensor] = {}
    for directory in directories:
        verify_files(directory, exact=True)
        weights = load_weights(directory)
        for name, weight in weights.items():
            sums[name] = weight.double() + sums[name] if name in sums else weight.double()
    return {name: (sums[name] / len(directories)).to(weights[name].dtype) for name in sums}


def load_weights(directory: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint as they are saved: tied ones under one of their names."""
    weights: dict[str, Tensor] = {}
    for path in sorted(directory.glob("model*.safetensors")):  # large models are several files
        try:
            weights |= load_file(path)
        except (OSError, SafetensorError) as error:
            raise UserError(f"{path}: no weights can be read: {error}") from error
    return weights


def put_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a model the weights of a checkpoint, all of them."""
    own = model.state_dict()
    given = {own[name].data_ptr() for name in own.keys() & weights.keys()}
    missing = [name for name, weight in own.items() if weight.data_ptr() not in given]
    unknown = [name for name in weights if name not in own]
    if missing or unknown:
        raise UserError(
            f"the weights are not those of this model: {len(missing)} are missing and "
            f"{len(unknown)} are unknown, such as {(missing + unknown)[0]}"
        )
    model.load_state_dict(weights, strict=False)  # other names of tied weights are not in it
