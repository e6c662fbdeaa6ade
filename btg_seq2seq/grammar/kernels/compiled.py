"""How the fast kernels are compiled, cached, and spread over threads.

numba compiles a kernel when it is first called and keeps the machine code on disk, so only the
first process ever waits. Kernels release the interpreter's lock and work on a range of sentences;
plain threads share a batch out, as many as ``torch.get_num_threads()`` says.
"""

import logging
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from numba import njit

logger = logging.getLogger(__name__)
_ready: dict[Any, set[Any]] = defaultdict(set)  # kinds of arguments it is compiled for

# Sums may be reordered, so that they become vector instructions; infinities keep their meaning.
compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="btg-kernel")


@cache
def _say_once(message: str) -> None:
    logger.warning(message)


def _kind(argument: Any) -> Any:
    """What numba compiles anew for: a type, and for a tuple also its length."""
    if isinstance(argument, tuple):
        return len(argument), _kind(argument[0])
    return getattr(argument, "dtype", None)


def over_batch(kernel: Any, batch: int, work: int, *arguments: Any) -> None:
    """Call ``kernel(begin, end, *arguments)`` over the whole batch, in threads if that pays.

    ``work`` is the rough number of inner steps for each item of the batch.
    """
    kinds = tuple(map(_kind, arguments))
    if kinds not in _ready[kernel]:
        message = "Compiling the grammar's kernels for this machine (once; kept for next time) ..."
        notice = threading.Timer(1.0, _say_once, [message])
        notice.start()
        kernel(0, 0, *arguments)  # compiles, or loads from the cache
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
