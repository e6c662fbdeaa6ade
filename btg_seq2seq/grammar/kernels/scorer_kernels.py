"""Scores of all splits on a CPU, and their gradients: hidden units are never written to memory.

A *block* is a run of hidden units in a vector register. The forward kernel sums up a split's blocks
as they arise. The backward kernel computes them again, one block at a time through all splits, so
that every sum except those of the left fenceposts stays in a register. Widths are multiples of a
block (``split_scores`` pads them with zeros), arrays are contiguous, sentences are independent.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.kernels.packed import split_index
from btg_seq2seq.grammar.kernels.packs import real_product, real_sum

BLOCK = 16  # one AVX-512 register of float32; elsewhere the compiler takes several smaller ones


class _Block(types.Type):  # type: ignore[misc]
    def __init__(self, element):
        self.element = element
        super().__init__(name=f"Block({element})")


@register_model(_Block)
class _BlockModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, frontend_type):
        element = manager.lookup(frontend_type.element).get_value_type()
        super().__init__(manager, frontend_type, ir.VectorType(element, BLOCK))


def _pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, value=array).data
    return builder.gep(data, [index])


def _block_pointer(context, builder, array_type, array, index):
    place = builder.mul(index, index.type(BLOCK))
    pointer = _pointer(context, builder, array_type, array, place)
    vector = ir.VectorType(context.get_value_type(array_type.dtype), BLOCK)
    return builder.bitcast(pointer, vector.as_pointer())


@intrinsic
def load(typing_context, array, index):
    """The block at ``array[BLOCK * index]`` of a contiguous array, counted over all its axes."""

    def generate(context, builder, signature, arguments):
        pointer = _block_pointer(context, builder, signature.args[0], *arguments)
        return builder.load(pointer, align=signature.args[0].dtype.bitwidth // 8)

    return _Block(array.dtype)(array, types.intp), generate


@intrinsic
def store(typing_context, array, index, value):
    """Write a block to ``array[BLOCK * index]``."""

    def generate(context, builder, signature, arguments):
        pointer = _block_pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], pointer, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def spread(typing_context, array, index):
    """A block of which every unit is ``array[index]``."""

    def generate(context, builder, signature, arguments):
        value = builder.load(_pointer(context, builder, signature.args[0], *arguments))
        undefined = ir.Constant(ir.VectorType(value.type, BLOCK), ir.Undefined)
        one = builder.insert_element(undefined, value, ir.IntType(32)(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
        return builder.shuffle_vector(one, undefined, mask)

    return _Block(array.dtype)(array, types.intp), generate


@intrinsic
def zeros_like(typing_context, array):
    """A block of zeros of the array's type."""

    def generate(context, builder, signature, arguments):
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return _Block(array.dtype)(array), generate


@intrinsic
def where_active(typing_context, inputs, values):
    """``values`` where the ReLU of ``inputs`` lets them pass, else 0; NaN passes, as in torch."""

    def generate(context, builder, signature, arguments):
        zeros = ir.Constant(arguments[0].type, None)
        silent = builder.fcmp_ordered("<=", arguments[0], zeros)
        return builder.select(silent, zeros, arguments[1])

    return inputs(inputs, inputs), generate


@intrinsic
def total(typing_context, block):
    """The sum of a block's units."""

    def generate(context, builder, signature, arguments):
        vector = arguments[0].type
        name = f"llvm.vector.reduce.fadd.v{BLOCK}f{signature.return_type.bitwidth}"
        kind = ir.FunctionType(vector.element, [vector.element, vector])
        function = builder.module.declare_intrinsic(name, fnty=kind)
        start = ir.Constant(vector.element, 0.0)
        return builder.call(function, [start, arguments[0]], fastmath=("reassoc",))

    return block.element(block), generate


@compiled
def increase(array, index, x):
    """Add a block to the one at ``array[BLOCK * index]``."""
    store(array, index, real_sum(load(array, index), x))


@compiled
def first_split(j, k):
    """Packed index of the first of the splits ``(0, j, k), (1, j, k), ...``."""
    return split_index(0, j, k)


@compiled
def forward(begin, end, lengths, features, output, scores):
    """Scores ``[batch, splits * outputs]`` from left, middle and right features.

    ``features`` are three arrays ``[batch, fenceposts, width]``; ``output`` is a tuple of one or
    two rows ``[width]``, and numba compiles a kernel for each number.
    """
    left, middle, right = features
    outputs, blocks = len(output), left.shape[2] // BLOCK
    offset = np.empty(left.shape[2], left.dtype)  # what the splits (0, j, k), (1, j, k), ... share
    for sentence in range(begin, end):
        starts, splits, stops = left[sentence], middle[sentence], right[sentence]
        row = scores[sentence]
        for k in range(2, lengths[sentence] + 1):
            for j in range(1, k):
                for block in range(blocks):
                    split, stop = load(splits, j * blocks + block), load(stops, k * blocks + block)
                    store(offset, block, real_sum(split, stop))
                place = outputs * first_split(j, k)
                for i in range(j):
                    first, second = zeros_like(left), zeros_like(left)
                    for block in range(blocks):
                        inputs = real_sum(load(starts, i * blocks + block), load(offset, block))
                        hidden = where_active(inputs, inputs)
                        first = real_sum(first, real_product(hidden, load(output[0], block)))
                        if outputs == 2:
                            second = real_sum(second, real_product(hidden, load(output[-1], block)))
                    row[place + outputs * i] = total(first)
                    if outputs == 2:
                        row[place + 2 * i + 1] = total(second)


@compiled
def used_starts(gradient, outputs, length):
    """For each ``(j, k)`` how many of the splits ``(0, j, k), (1, j, k), ...`` have a gradient.

    A CRF with few leaves uses few splits: with three leaves, those at either end of the sentence.
    Leaving out the zeros behind the last one used leaves O(length^2) splits to go through there.
    """
    counts = np.zeros((length + 1, length + 1), np.int64)
    for k in range(2, length + 1):
        for j in range(1, k):
            place, used = outputs * first_split(j, k), outputs * j
            while used > 0 and gradient[place + used - 1] == 0.0:
                used -= 1
            counts[j, k] = (used + outputs - 1) // outputs
    return counts


@compiled
def backward_block(block, counts, features, output, gradient, of_features, of_output):
    """Gradients of one sentence with respect to one block of hidden units; see ``backward``."""
    starts, splits, stops = features
    of_starts, of_splits, of_stops = of_features
    outputs, blocks, length = len(output), starts.shape[1] // BLOCK, len(counts) - 1
    first, of_first = load(output[0], block), zeros_like(starts)
    second, of_second = load(output[-1], block), zeros_like(starts)
    for k in range(2, length + 1):
        stop, of_stop = load(stops, k * blocks + block), zeros_like(starts)
        for j in range(1, k):
            offset = real_sum(load(splits, j * blocks + block), stop)
            of_offset = zeros_like(starts)
            place = outputs * first_split(j, k)
            for i in range(counts[j, k]):
                inputs = real_sum(load(starts, i * blocks + block), offset)
                hidden = where_active(inputs, inputs)
                of_score = spread(gradient, place + outputs * i)
                of_hidden = real_product(of_score, first)
                of_first = real_sum(of_first, real_product(of_score, hidden))
                if outputs == 2:
                    of_score = spread(gradient, place + 2 * i + 1)
                    of_hidden = real_sum(of_hidden, real_product(of_score, second))
                    of_second = real_sum(of_second, real_product(of_score, hidden))
                of_inputs = where_active(inputs, of_hidden)
                increase(of_starts, i * blocks + block, of_inputs)
                of_offset = real_sum(of_offset, of_inputs)
            increase(of_splits, j * blocks + block, of_offset)
            of_stop = real_sum(of_stop, of_offset)
        store(of_stops, k * blocks + block, of_stop)
    store(of_output, block, of_first)
    if outputs == 2:
        store(of_output, blocks + block, of_second)


@compiled
def backward(begin, end, lengths, features, output, gradient, of_features, of_output):
    """Gradients of left, middle and right features, and of ``output`` for each sentence.

    ``features`` and ``of_features`` are three arrays ``[batch, fenceposts, width]``, the gradients
    zero at first; ``gradient`` is ``[batch, splits * outputs]``; ``of_output`` is
    ``[batch, outputs, width]``, one sum per sentence, so that no two threads write to one place.
    """
    for sentence in range(begin, end):
        counts = used_starts(gradient[sentence], len(output), lengths[sentence])
        for block in range(features[0].shape[2] // BLOCK):
            backward_block(
                block,
                counts,
                (features[0][sentence], features[1][sentence], features[2][sentence]),
                output,
                gradient[sentence],
                (of_features[0][sentence], of_features[1][sentence], of_features[2][sentence]),
                of_output[sentence],
            )
