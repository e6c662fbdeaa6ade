"""The directory of a run: whether it may be used, and what is written to and removed from it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import LEXICAL_FILE, MANIFEST_FILE, TUNED_FILE, write_manifest
from btg_seq2seq.model.decoding_settings import DECODING_FILE
from btg_seq2seq.opening import read_json
from btg_seq2seq.text import write_lines
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.files.checkpoints import FOLDER, UNFINISHED, Checkpoints
from btg_seq2seq.training.files.names import (
    DATA_FILE,
    ENVIRONMENT_FILE,
    EXAMPLES_FILE,
    METRICS_FILE,
)
from btg_seq2seq.training.settings.config import CONFIG_FILE, TrainConfig, load_config

# All that a run writes into its directory, the model and the tokenizer under names of Hugging
# Face's; nothing else is ever removed from it.
WRITTEN = [FOLDER, "teacher", "tensorboard", CONFIG_FILE, DATA_FILE]
WRITTEN += [METRICS_FILE, EXAMPLES_FILE, ENVIRONMENT_FILE]
WRITTEN += [MANIFEST_FILE, DECODING_FILE, TUNED_FILE, LEXICAL_FILE]
WRITTEN += ["config.json", "generation_config.json"]
WRITTEN += ["model.safetensors"]
WRITTEN += ["model.safetensors.index.json", "model-[0-9]*-of-[0-9]*.safetensors"]
WRITTEN += ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"]
WRITTEN += ["added_tokens.json", "vocab.json", "merges.txt", "spiece.model"]
WRITTEN += ["sentencepiece.bpe.model", "source.spm", "target.spm"]


def check_directory(
    directory: Path, config: TrainConfig, bitexts: Bitexts, resume: bool, overwrite: bool
) -> None:
    """Decide whether a run may use a directory; nothing is changed there yet."""
    started = directory / CONFIG_FILE
    if overwrite:
        inputs = {
            "model.init_from": config.model.init_from,
            "model.backbone": config.model.backbone,
            "tokenizer.path": config.tokenizer.path,
        }
        for name, path in inputs.items():
            if path is None or not Path(path).exists():  # a name on the hub
                continue
            if Path(path).resolve().is_relative_to(directory.resolve()):
                raise UserError(
                    f"{name} is {path}, which --overwrite would remove with {directory}: choose "
                    "another directory with --output"
                )
    elif Checkpoints(directory).last is not None and started.exists():
        if not resume:
            raise UserError(
                f"{directory} holds a run already: continue it with --resume, replace it with "
                "--overwrite, or choose another directory with --output"
            )
        differences = load_config(started).differences(config)
        if differences:
            raise UserError(
                f"cannot resume: {started} is not what is asked for now ({'; '.join(differences)});"
                " go back to these settings, or start again with --overwrite"
            )
        texts = directory / DATA_FILE
        now = bitexts.checksums
        before = read_json(texts)
        for name in sorted(now.keys() | before.keys()):
            was, is_now = before.get(name, "nothing"), now.get(name, "nothing")
            if was != is_now:
                raise UserError(
                    f"cannot resume: the {name} text is not that of {directory} (it was "
                    f"{was}, is now {is_now}); go back to it, or start again with --overwrite"
                )
    elif Checkpoints(directory).last is not None or any(directory.glob("*.safetensors")):
        raise UserError(
            f"{directory} holds a model, but not a run that could be resumed: choose another "
            "directory with --output, or replace it with --overwrite"
        )


def prepare_directory(
    directory: Path, config: TrainConfig, bitexts: Bitexts, overwrite: bool
) -> None:
    """Make the directory of a run that is about to begin or to go on."""
    if overwrite:
        for pattern in WRITTEN:
            for path in directory.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    directory.mkdir(parents=True, exist_ok=True)
    Checkpoints(directory).clean()
    config.save(directory)
    write_lines(directory / DATA_FILE, [json.dumps(bitexts.checksums)])


def put_model(directory: Path, save: Callable[[str], None]) -> None:
    """Write the final model; its manifest comes last, so a model that can be loaded is complete."""
    unfinished = directory / f"{UNFINISHED}model"
    shutil.rmtree(unfinished, ignore_errors=True)
    save(str(unfinished))
    write_manifest(unfinished)
    for path in sorted(unfinished.iterdir(), key=lambda path: path.name == MANIFEST_FILE):
        os.replace(path, directory / path.name)
    unfinished.rmdir()
