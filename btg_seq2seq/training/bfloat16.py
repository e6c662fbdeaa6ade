"""A notice where bfloat16 is slow: it is measured, since few names of processors tell.

Processors without instructions for it emulate it, slower than float32.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

_SIZE = 512  # a product takes milliseconds
_REPETITIONS = 3


def warn_if_slow(say: Callable[[str], None]) -> None:
    """Say so if matrices are multiplied more slowly in bfloat16 than in float32."""
    ratio = seconds(torch.bfloat16) / seconds(torch.float32)
    if ratio > 1:
        say(
            f"this processor multiplies {ratio:.1f} times more slowly in bfloat16 than in float32: "
            "optimisation.bf16 false is faster"
        )


def seconds(dtype: torch.dtype) -> float:
    """Return the least time of a product of two matrices."""
    matrix = torch.ones(_SIZE, _SIZE, dtype=dtype)
    found = []
    for _ in range(_REPETITIONS):
        start = time.perf_counter()
        torch.mm(matrix, matrix)
        found.append(time.perf_counter() - start)
    return min(found)
