"""The dynamic programs, on two paths with one result.

``fast`` is compiled for the CPU; ``portable`` is plain torch for any device and float type.
``auto`` takes the fast one for float32 and float64 on a CPU. The environment variable
``BTG_KERNELS`` overrides ``auto`` for a whole process.
"""

import os
from typing import Literal, get_args

import torch
from torch import Tensor

from btg_seq2seq.grammar.kernels.program import DIFFERENCE, LOG_WEIGHT, VALUE, Direction, Program
from btg_seq2seq.grammar.sizes import Sizes

Kernels = Literal["auto", "fast", "portable"]

__all__ = [
    "DIFFERENCE",
    "LOG_WEIGHT",
    "VALUE",
    "Direction",
    "Kernels",
    "Program",
    "leaf_program",
    "tree_program",
    "use_fast",
]


def use_fast(scores: Tensor, kernels: Kernels) -> bool:
    """Decide whether to use the fast kernels for these scores."""
    name = os.environ.get("BTG_KERNELS", "auto") if kernels == "auto" else kernels
    if name not in get_args(Kernels):
        raise ValueError(f"kernels are one of {', '.join(get_args(Kernels))}, not {name!r}")
    suits = scores.device.type == "cpu" and scores.dtype in (torch.float32, torch.float64)
    if name == "fast" and not suits:
        raise ValueError(
            f"the fast kernels need float32 or float64 on a CPU, not {scores.dtype} on "
            f"{scores.device}; use kernels='portable'"
        )
    return suits and name != "portable"


def tree_program(scores: Tensor, sizes: Sizes, largest: Tensor, kernels: Kernels) -> Program:
    """The program for a batch of tree CRFs; ``largest`` is each sentence's largest score."""
    if use_fast(scores, kernels):
        from btg_seq2seq.grammar.kernels.fast import FastTreeProgram

        return FastTreeProgram(sizes, largest)
    from btg_seq2seq.grammar.kernels.portable import PortableTreeProgram

    return PortableTreeProgram(sizes)


def leaf_program(
    scores: Tensor, sizes: Sizes, largest: Tensor, leaf_splits: Tensor, kernels: Kernels
) -> Program:
    """The program for a batch of leaf CRFs along the trees that ``leaf_splits`` describe."""
    if use_fast(scores, kernels):
        from btg_seq2seq.grammar.kernels.fast import FastLeafProgram

        return FastLeafProgram(sizes, largest, leaf_splits)
    from btg_seq2seq.grammar.kernels.portable import PortableLeafProgram

    return PortableLeafProgram(sizes, leaf_splits)
