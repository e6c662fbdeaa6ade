"""One run per directory: a lock that names the process that holds it.

The lock is the operating system's, so a process that died holds nothing. A file beside it names the
holder, for people; a file that was left behind shows that its process was killed.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from btg_seq2seq.errors import UserError

LOCK_FILE, OWNER_FILE = ".lock", ".lock.json"


@contextmanager
def locked(directory: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a run's directory, created if necessary; an error names another holder."""
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is a file: choose another place with --output")
    is_new = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    owner_file = directory / OWNER_FILE
    owner = _owner(owner_file)
    lock = FileLock(directory / LOCK_FILE)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"{directory} is in use by {owner or 'another process'}: wait for it, stop it, or "
            "choose another directory with --output"
        ) from None
    try:
        if owner is not None:
            say(f"{directory} was locked by {owner}, which has ended: taken over")
        values = {"process": os.getpid(), "host": socket.gethostname(), "since": _now()}
        owner_file.write_text(json.dumps(values), encoding="utf-8")
        yield
    finally:
        owner_file.unlink(missing_ok=True)
        (directory / LOCK_FILE).unlink(missing_ok=True)
        lock.release()
        if is_new and not any(directory.iterdir()):  # a run that never began leaves nothing
            directory.rmdir()


def _owner(path: Path) -> str | None:
    """Describe the process that holds a lock, or held it last."""
    try:
        values = json.loads(path.read_bytes())
        return f"process {values['process']} on {values['host']} since {values['since']}"
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return "an unknown process"


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
