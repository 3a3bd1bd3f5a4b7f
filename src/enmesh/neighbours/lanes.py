"""Vectors as numba values, so that kernels say what the vector unit does.

LLVM's loop vectoriser gives up on the short inner loops of a neighbour search (possible aliasing, tiny trip
counts). Here the vectors are explicit: a variable holds `FLOATS` float64 or `SHORTS` int16 numbers in a register,
and every function below is one or two instructions on all of them. None of them rounds but `subtract` and `gap`.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model

FLOATS = 8  # float64 numbers in a vector
SHORTS = 32  # int16 numbers in a vector


def aligned(size, dtype):
    """Uninitialised flat array that starts on a cache line, so that no vector straddles two."""
    line = 64
    room = np.empty(size * np.dtype(dtype).itemsize + line, np.uint8)
    skip = -room.ctypes.data % line
    return room[skip : skip + size * np.dtype(dtype).itemsize].view(dtype)


class _Lanes(types.Type):
    def __init__(self, element, width, vector):
        self.element, self.width, self.vector = element, width, vector
        super().__init__(name=f"Lanes({element}, {width})")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, fe_type.vector)


def _kind(element, width, scalar):
    return _Lanes(element, width, ir.VectorType(scalar, width))


_KINDS = {
    types.float64: _kind(types.float64, FLOATS, ir.DoubleType()),
    types.int16: _kind(types.int16, SHORTS, ir.IntType(16)),
}
_MASKS = {width: _kind(types.boolean, width, ir.IntType(1)) for width in (FLOATS, SHORTS)}


def _is_float(kind):
    return kind.element == types.float64


def _constant(kind, value):
    return ir.Constant(kind.vector, [value] * kind.width)


def _call(builder, name, result, args):
    function = builder.module.declare_intrinsic(name, (), ir.FunctionType(result, [a.type for a in args]))
    return builder.call(function, args)


def _suffix(kind):
    return f"v{kind.width}" + ("f64" if _is_float(kind) else "i16")


def _compare(builder, sign, kind, a, b):
    return builder.fcmp_ordered(sign, a, b) if _is_float(kind) else builder.icmp_signed(sign, a, b)


def _pointer(context, builder, signature, args):
    """Address of ``array[offset]`` as a pointer to a vector."""
    array_type, array, offset = signature.args[0], args[0], args[1]
    data = context.make_array(array_type)(context, builder, array).data
    position = context.cast(builder, offset, signature.args[1], types.intp)
    return builder.bitcast(builder.gep(data, [position]), _KINDS[array_type.dtype].vector.as_pointer())


@intrinsic
def load(typingctx, array, offset):
    """Consecutive numbers of a flat contiguous array from ``offset`` on."""

    def generate(context, builder, signature, args):
        return builder.load(_pointer(context, builder, signature, args), align=array.dtype.bitwidth // 8)

    return _KINDS[array.dtype](array, offset), generate


@intrinsic
def store(typingctx, array, offset, value):
    """Write the vector to a flat contiguous array from ``offset`` on."""

    def generate(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, signature, args), align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, offset, value), generate


@intrinsic
def splat(typingctx, value):
    """The same number in every lane: of float64 or of int16, as the number is."""
    kind = _KINDS[value]

    def generate(context, builder, signature, args):
        undefined = ir.Constant(kind.vector, ir.Undefined)
        single = builder.insert_element(undefined, args[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.width), None)
        return builder.shuffle_vector(single, undefined, zeros)

    return kind(value), generate


@intrinsic
def subtract(typingctx, a, b):
    """Lane by lane a - b."""

    def generate(context, builder, signature, args):
        return builder.fsub(*args) if _is_float(a) else builder.sub(*args)

    return a(a, a), generate


@intrinsic
def gap(typingctx, a, b):
    """Lane by lane |a - b|."""

    def generate(context, builder, signature, args):
        if _is_float(a):
            return _call(builder, f"llvm.fabs.{_suffix(a)}", a.vector, [builder.fsub(*args)])
        difference = builder.sub(*args)
        keep = ir.Constant(ir.IntType(1), 0)
        return _call(builder, f"llvm.abs.{_suffix(a)}", a.vector, [difference, keep])

    return a(a, a), generate


@intrinsic
def larger(typingctx, a, b):
    """Lane by lane the larger number."""

    def generate(context, builder, signature, args):
        return builder.select(_compare(builder, ">", a, *args), *args)

    return a(a, a), generate


@intrinsic
def smaller(typingctx, a, b):
    """Lane by lane the smaller number."""

    def generate(context, builder, signature, args):
        return builder.select(_compare(builder, "<", a, *args), *args)

    return a(a, a), generate


@intrinsic
def at_most(typingctx, a, b):
    """Mask of the lanes where a <= b."""

    def generate(context, builder, signature, args):
        return _compare(builder, "<=", a, *args)

    return _MASKS[a.width](a, a), generate


@intrinsic
def less(typingctx, a, b):
    """Mask of the lanes where a < b."""

    def generate(context, builder, signature, args):
        return _compare(builder, "<", a, *args)

    return _MASKS[a.width](a, a), generate


@intrinsic
def both(typingctx, a, b):
    """Mask of the lanes where both masks hold."""
    return a(a, a), lambda context, builder, signature, args: builder.and_(*args)


@intrinsic
def bits(typingctx, a):
    """The mask as an integer, lane 0 in the lowest bit; 0 when no lane holds."""

    def generate(context, builder, signature, args):
        return builder.zext(builder.bitcast(args[0], ir.IntType(a.width)), ir.IntType(64))

    return types.int64(a), generate


@intrinsic
def tally(typingctx, total, a):
    """Add one to the int16 lanes of ``total`` where the mask holds."""

    def generate(context, builder, signature, args):
        return builder.sub(args[0], builder.sext(args[1], total.vector))

    return total(total, a), generate


@intrinsic
def largest(typingctx, a):
    """The largest lane."""

    def generate(context, builder, signature, args):
        name = "fmax" if _is_float(a) else "smax"
        return _call(builder, f"llvm.vector.reduce.{name}.{_suffix(a)}", a.vector.element, [args[0]])

    return a.element(a), generate


@intrinsic
def smallest(typingctx, a):
    """The smallest lane."""

    def generate(context, builder, signature, args):
        name = "fmin" if _is_float(a) else "smin"
        return _call(builder, f"llvm.vector.reduce.{name}.{_suffix(a)}", a.vector.element, [args[0]])

    return a.element(a), generate


@intrinsic
def first(typingctx, value):
    """Position of the lowest set bit of a non-zero integer."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@intrinsic
def ones(typingctx, value):
    """Number of set bits."""
    return types.int64(types.int64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic
def either(typingctx, a, b):
    """Mask of the lanes where either mask holds."""
    return a(a, a), lambda context, builder, signature, args: builder.or_(*args)


@intrinsic
def unlike(typingctx, a, b):
    """Mask of the lanes where exactly one mask holds."""
    return a(a, a), lambda context, builder, signature, args: builder.xor(*args)
