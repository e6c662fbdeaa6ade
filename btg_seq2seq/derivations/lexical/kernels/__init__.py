"""Compiled dynamic programs of the lexical teacher."""

from pathlib import Path

from btg_seq2seq.grammar.kernels.compiled import forget_stale_kernels

forget_stale_kernels(Path(__file__).parent)
