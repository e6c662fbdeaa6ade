"""Results kept on disk, by content: safetensors files with checksums.

A directory for each combination of text, settings and version. A file that is missing, damaged, or
has other arrays than expected is no result: it is computed again and replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

Arrays = dict[str, NDArray[Any]]
CHECKSUM = "sha256"


class Cache:
    """The results of one computation; without a directory, nothing is kept.

    Args:
        directory: of all computations, which is created if necessary.
        key: whatever the results depend on.
    """

    def __init__(self, directory: str | Path | None, key: object) -> None:
        self.folder: Path | None = None
        if directory is not None:
            digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
            self.folder = Path(directory) / digest[:32]
            self.folder.mkdir(parents=True, exist_ok=True)

    def load(self, name: str) -> Arrays | None:
        """Read arrays, unless they are missing or damaged."""
        if self.folder is None:
            return None
        try:
            with safe_open(self.folder / f"{name}.safetensors", "np") as file:
                arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                checksum = (file.metadata() or {}).get(CHECKSUM)
        except (OSError, SafetensorError, ValueError, TypeError, KeyError):
            return None
        return arrays if checksum == _checksum(arrays) else None

    def save(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write arrays; another process never sees a part of them."""
        if self.folder is None:
            return
        whole = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
        handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
        os.close(handle)
        try:
            save_file(whole, temporary, {CHECKSUM: _checksum(whole)})
            os.replace(temporary, self.folder / f"{name}.safetensors")
        finally:
            Path(temporary).unlink(missing_ok=True)


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    checksum = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        checksum.update(f"{name} {array.dtype} {array.shape}".encode())
        checksum.update(array.tobytes())
    return checksum.hexdigest()
