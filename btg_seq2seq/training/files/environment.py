"""The environment of a run: versions, processor and threads, a line of JSON for every start.

Also the facts without which CPU times of two machines cannot be compared.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
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


def timing_facts(threads: int | None = None) -> dict[str, Any]:
    """Describe what CPU times depend on; nothing that names the machine or its owner."""
    found = {
        "processor": processor(),
        "threads": threads or torch.get_num_threads(),
        "revision": revision(),
        "preloaded": bool(os.environ.get("LD_PRELOAD")) or None,  # faster kernels, for example
    }
    return {name: value for name, value in found.items() if value is not None}


def processor() -> str:
    """Return the processor's name as the system gives it."""
    try:
        names = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        names = []
    if not names and shutil.which("sysctl"):
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        names = [found.stdout.strip()] if found.stdout.strip() else []
    return names[0] if names else platform.processor() or platform.machine()


def revision() -> str | None:
    """Return the commit of this code, with a mark if files differ; ``None`` without a checkout.

    Files in ``docs`` do not count: benchmarks themselves write tables there.
    """
    if shutil.which("git") is None or not _git("ls-files", "--", Path(__file__).name):
        return None  # an installation may lie within another project's checkout
    changed = _git("diff", "HEAD", "--name-only", "--", ":/", ":(top,exclude)docs")
    return _git("describe", "--always", "--abbrev=10") + ("-dirty" if changed else "")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip()


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
