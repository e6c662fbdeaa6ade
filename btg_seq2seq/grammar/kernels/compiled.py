"""Compilation, caching and threading of the fast kernels.

numba compiles a kernel when it is first called and keeps the machine code on disk, so only the
first process ever waits. Kernels release the interpreter's lock and work on a range of sentences;
plain threads share a batch out, as many as ``torch.get_num_threads()`` says.
"""

import hashlib
import logging
import os
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from numba import njit

logger = logging.getLogger(__name__)


@cache
def _say_once(message: str) -> None:
    logger.warning(message)


_ready: dict[Any, set[Any]] = defaultdict(set)  # kinds of arguments it is compiled for


def forget_stale_kernels(folder: Path) -> None:
    """Delete the compiled kernels of a folder if any source that they are made from has changed.

    numba looks only at the file of a kernel itself, not at those of the functions it calls.
    """
    own = Path(__file__).parent
    sources = [*sorted({*folder.glob("*.py"), *own.glob("*.py")}), own.parent / "packing.py"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    cache_folder = folder / "__pycache__"
    stamp = cache_folder / "kernels.sha256"
    try:
        if not stamp.exists() or stamp.read_text() != digest:
            cache_folder.mkdir(exist_ok=True)
            for pattern in ("*.nbi", "*.nbc"):
                for file in cache_folder.glob(pattern):
                    file.unlink(missing_ok=True)
            stamp.write_text(digest)
    except OSError:
        pass  # installed where nobody may write, so nothing there changes either


forget_stale_kernels(Path(__file__).parent)


def compile_kernel(function: Any, *fast_math: str) -> Any:
    """Compile when first called; kept on disk, where there is a place to keep it."""
    try:
        return njit(cache=True, nogil=True, fastmath=set(fast_math))(function)
    except RuntimeError:
        _say_once("No directory for compiled kernels can be written; set NUMBA_CACHE_DIR to one.")
        return njit(nogil=True, fastmath=set(fast_math))(function)


def compiled(function: Any) -> Any:
    """Compile a kernel. Sums may be reordered, so that they become vector instructions."""
    return compile_kernel(function, "reassoc", "contract", "nsz")


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="btg-kernel")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of these threads


def _kind(argument: Any) -> Any:
    """The part of an argument that numba specialises on: a type, and the length of a tuple."""
    if isinstance(argument, tuple):
        return len(argument), _kind(argument[0])
    return getattr(argument, "dtype", None)


def over_batch(kernel: Any, batch: int, work: int, *arguments: Any) -> None:
    """Call ``kernel(begin, end, *arguments)`` over the whole batch, in threads if that pays.

    ``work`` is the rough number of inner steps for each item of the batch.
    """
    kinds = tuple(map(_kind, arguments))
    if kinds not in _ready[kernel]:
        message = "Compiling the grammar's kernels for this machine, or loading them ..."
        notice = threading.Timer(1.0, _say_once, [message])
        notice.start()
        try:
            kernel(0, 0, *arguments)  # compiles, or loads from the cache
        finally:
            notice.cancel()
        _ready[kernel].add(kinds)
    threads = min(torch.get_num_threads(), batch, 1 + batch * work // 200_000)
    if threads == 1:
        kernel(0, batch, *arguments)
        return
    bounds = [batch * part // threads for part in range(threads + 1)]
    futures = [
        _pool(threads).submit(kernel, begin, end, *arguments) for begin, end in pairwise(bounds)
    ]
    for future in futures:
        future.result()
