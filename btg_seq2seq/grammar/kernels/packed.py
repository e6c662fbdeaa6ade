"""Packed indices inside of kernels: the formulas of ``packing``, compiled."""

from btg_seq2seq.grammar import packing
from btg_seq2seq.grammar.kernels.compiled import compiled

span_count = compiled(packing.span_count)
span_index = compiled(packing.span_index)
split_index = compiled(packing.split_index)
