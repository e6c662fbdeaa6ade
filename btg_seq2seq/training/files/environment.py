"""The environment of a run: versions, processor and threads, a line of JSON for every start."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from btg_seq2seq.training.files.names import ENVIRONMENT_FILE

PACKAGES = ("btg-seq2seq", "torch", "transformers", "tokenizers", "numpy", "numba", "sacrebleu")


def environment(device: torch.device, processes: int = 1) -> dict[str, Any]:
    """Describe the machine and the versions; nothing that names its owner."""
    computes_on = str(device)
    if device.type == "cuda":
        computes_on = torch.cuda.get_device_name(device)
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": computes_on,
        "processors": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "processes": processes,
        **{name: _version(name) for name in PACKAGES},
    }


def write_environment(directory: Path, step: int, described: dict[str, Any]) -> None:
    """Add a line: the run starts, or goes on, at a step."""
    path = directory / ENVIRONMENT_FILE
    lines = path.read_text(encoding="utf-8").splitlines() if step and path.exists() else []
    lines.append(json.dumps({"step": step, **described}))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a directory, without an installation
        return None
