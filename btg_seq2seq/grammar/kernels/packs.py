"""Arithmetic for the fast kernels: eight sentences side by side, with or without tangents.

A *pack* is one float64 for each of eight sentences, held in a vector register, so that a kernel
reads like the scalar algorithm and does eight sentences at a time. A *number* is a tuple of packs
(or of plain floats): ``(value,)``, or ``(value, tangent)`` for a dual number; the operations below
follow the product rule where there is a tangent. A *store* is a tuple of flat arrays in the same
way. numba compiles each kernel once for values alone and once with tangents.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from btg_seq2seq.grammar.kernels.compiled import compile_kernel, compiled

PACK = 8
_VECTOR = ir.VectorType(ir.DoubleType(), PACK)


class _Pack(types.Type):  # type: ignore[misc]
    def __init__(self):
        super().__init__(name="Pack")


_pack = _Pack()


@register_model(_Pack)
class _PackModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager, frontend_type):
        super().__init__(manager, frontend_type, _VECTOR)


def _pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, value=array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


@intrinsic
def load(typing_context, array, index):
    """The pack at ``array[8 * index]``."""

    def generate(context, builder, signature, arguments):
        place = builder.mul(arguments[1], arguments[1].type(PACK))
        pointer = _pointer(context, builder, signature.args[0], arguments[0], place)
        return builder.load(pointer, align=8)

    return _pack(array, types.intp), generate


@intrinsic
def store(typing_context, array, index, value):
    """Write a pack to ``array[8 * index]``."""

    def generate(context, builder, signature, arguments):
        place = builder.mul(arguments[1], arguments[1].type(PACK))
        pointer = _pointer(context, builder, signature.args[0], arguments[0], place)
        builder.store(arguments[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _pack), generate


@intrinsic
def splat(typing_context, value):
    """A pack of eight equal values."""

    def generate(context, builder, signature, arguments):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        one = builder.insert_element(undefined, arguments[0], ir.IntType(32)(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), PACK), [0] * PACK)
        return builder.shuffle_vector(one, undefined, mask)

    return _pack(types.float64), generate


@intrinsic
def added_up(typing_context, value):
    """The sum of the values of a pack."""

    def generate(context, builder, signature, arguments):
        parts = [
            builder.extract_element(arguments[0], ir.IntType(32)(lane)) for lane in range(PACK)
        ]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [builder.fadd(x, y) for x, y in zip(parts[:half], parts[half:], strict=True)]
        return parts[0]

    return types.float64(_pack), generate


def _binary(emit):
    @intrinsic
    def operation(typing_context, x, y):
        def generate(context, builder, signature, arguments):
            return emit(builder, *arguments)

        return x(x, x), generate

    return operation


def _larger(builder, x, y):
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


real_sum = _binary(lambda builder, x, y: builder.fadd(x, y, flags=("contract",)))
real_product = _binary(lambda builder, x, y: builder.fmul(x, y, flags=("contract",)))
real_maximum = _binary(_larger)


# Operations on numbers. Each has a plain form and a dual one; numba picks by the tuple's length.


def read(numbers, index):
    """The number of packs at ``index`` of a store."""


def write(numbers, index, x):
    """Replace the number of packs at ``index`` of a store."""


def read_float(numbers, index):
    """The number of plain floats at ``index`` of a store."""


def write_float(numbers, index, x):
    """Replace the number of plain floats at ``index`` of a store."""


def add(x, y):
    """``x + y``."""


def multiply(x, y):
    """``x y``."""


def zero_like(numbers):
    """Zero, with a tangent if ``numbers`` (a number or a store) has tangents."""


def new_store(like, size):
    """A store of ``size`` zeros, with tangents if ``like`` has them."""


def take_rows(arrays, sentence):
    """One sentence's row of each array."""


@overload(read)
def _read(numbers, index):
    if len(numbers) == 1:
        return lambda numbers, index: (load(numbers[0], index),)
    return lambda numbers, index: (load(numbers[0], index), load(numbers[1], index))


@overload(write)
def _write(numbers, index, x):
    def plain(numbers, index, x):
        store(numbers[0], index, x[0])

    def dual(numbers, index, x):
        store(numbers[0], index, x[0])
        store(numbers[1], index, x[1])

    return plain if len(numbers) == 1 else dual


@overload(read_float)
def _read_float(numbers, index):
    if len(numbers) == 1:
        return lambda numbers, index: (numbers[0][index],)
    return lambda numbers, index: (numbers[0][index], numbers[1][index])


@overload(write_float)
def _write_float(numbers, index, x):
    def plain(numbers, index, x):
        numbers[0][index] = x[0]

    def dual(numbers, index, x):
        numbers[0][index] = x[0]
        numbers[1][index] = x[1]

    return plain if len(numbers) == 1 else dual


@overload(take_rows)
def _take_rows(arrays, sentence):
    if len(arrays) == 1:
        return lambda arrays, sentence: (arrays[0][sentence],)
    return lambda arrays, sentence: (arrays[0][sentence], arrays[1][sentence])


@overload(add)
def _add(x, y):
    if len(x) == 1:
        return lambda x, y: (real_sum(x[0], y[0]),)
    return lambda x, y: (real_sum(x[0], y[0]), real_sum(x[1], y[1]))


@overload(multiply)
def _multiply(x, y):
    if len(x) == 1:
        return lambda x, y: (real_product(x[0], y[0]),)
    return lambda x, y: (
        real_product(x[0], y[0]),
        real_sum(real_product(x[0], y[1]), real_product(x[1], y[0])),
    )


@overload(zero_like)
def _zero_like(numbers):
    if len(numbers) == 1:
        return lambda numbers: (splat(0.0),)
    return lambda numbers: (splat(0.0), splat(0.0))


@overload(new_store)
def _new_store(like, size):
    if len(like) == 1:
        return lambda like, size: (np.zeros(size),)
    return lambda like, size: (np.zeros(size), np.zeros(size))


@compiled
def increase(numbers, index, x):
    """Add ``x`` to the number at ``index`` of a store."""
    write(numbers, index, add(read(numbers, index), x))


@intrinsic
def _bits_of(typing_context, value):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _float_of(typing_context, bits):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


def exactly(function):
    """Compile without reordering sums: the rounding below depends on their order."""
    return compile_kernel(function, "contract")


_LOG2_E = 1.4426950408889634
_LOG_2_HIGH, _LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, kept in the low bits


@exactly
def exp(x):
    """``e^x`` for x <= 700, to 2 units in the last place; 0 below -708.

    Written without branches or calls, so that a loop over it becomes vector instructions, which a
    loop over the C library's does not.
    """
    y = max(x, -708.0)
    rounded = y * _LOG2_E + _ROUND
    exponent = rounded - _ROUND
    r = (y - exponent * _LOG_2_HIGH) - exponent * _LOG_2_LOW  # |r| <= log(2) / 2
    series = 1 / 479001600
    series = series * r + 1 / 39916800
    series = series * r + 1 / 3628800
    series = series * r + 1 / 362880
    series = series * r + 1 / 40320
    series = series * r + 1 / 5040
    series = series * r + 1 / 720
    series = series * r + 1 / 120
    series = series * r + 1 / 24
    series = series * r + 1 / 6
    series = series * r + 1 / 2
    series = series * r + 1.0
    series = series * r + 1.0
    power = _float_of((_bits_of(rounded) + 1023) << 52)
    return series * power if x > -708.0 else 0.0
