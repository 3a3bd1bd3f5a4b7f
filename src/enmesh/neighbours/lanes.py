"""Vectors as numba values, so that kernels say what the vector unit does.

LLVM's loop vectoriser gives up on the short inner loops of a neighbour search (possible aliasing, tiny trip
counts). Here the vectors are explicit: a variable holds `FLOATS` float64 or `SHORTS` int16 numbers in a register,
and every function below is one or two instructions on all of them. None of them rounds but `subtract` and `gap`.
"""

import operator

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

FLOATS = 8  # float64 numbers in a vector
SHORTS = 32  # int16 numbers in a vector


def aligned(size: int, dtype: type) -> np.ndarray:
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


class _Flat(types.Type):
    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Flat({dtype})")


@register_model(_Flat)
class _FlatModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.dtype).get_data_type().as_pointer())


@intrinsic
def flat(typingctx, array):
    """The memory of a contiguous array, read and written by one index.

    It has neither a length nor a count of its users, and no index is negative: a fraction of the code to compile.
    """

    def generate(context, builder, signature, args):
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return (_Flat(array.dtype)(array), generate) if array.layout == "C" else None


@intrinsic
def after(typingctx, memory, offset):
    """Flat memory from ``offset`` on."""
    return memory(memory, offset), _element


@type_callable(operator.getitem)
def _type_read(context):
    return lambda memory, index: memory.dtype if isinstance(memory, _Flat) else None


@type_callable(operator.setitem)
def _type_write(context):
    return lambda memory, index, value: types.void if isinstance(memory, _Flat) else None


@lower_builtin(operator.getitem, _Flat, types.Integer)
def _read(context, builder, signature, args):
    return builder.load(_element(context, builder, signature, args))


@lower_builtin(operator.setitem, _Flat, types.Integer, types.Any)
def _write(context, builder, signature, args):
    value = context.cast(builder, args[2], signature.args[2], signature.args[0].dtype)
    builder.store(value, _element(context, builder, signature, args))
    return context.get_dummy_value()


def _element(context, builder, signature, args):
    return builder.gep(args[0], [context.cast(builder, args[1], signature.args[1], types.intp)])


def _pointer(context, builder, signature, args):
    """Address of ``memory[offset]`` as a pointer to a vector."""
    vector = _KINDS[signature.args[0].dtype].vector
    return builder.bitcast(_element(context, builder, signature, args), vector.as_pointer())


@intrinsic
def load(typingctx, memory, offset):
    """Consecutive numbers from ``offset`` on."""

    def generate(context, builder, signature, args):
        return builder.load(_pointer(context, builder, signature, args), align=memory.dtype.bitwidth // 8)

    return _KINDS[memory.dtype](memory, offset), generate


@intrinsic
def store(typingctx, memory, offset, value):
    """Write the vector from ``offset`` on."""

    def generate(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, signature, args), align=memory.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(memory, offset, value), generate


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
def pick(typingctx, a, lane):
    """The number in one lane."""

    def generate(context, builder, signature, args):
        return builder.extract_element(*args)

    return a.element(a, lane), generate


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
