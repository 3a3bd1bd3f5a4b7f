"""Vectors as numba values, so that kernels say what the vector unit does.

LLVM's loop vectoriser gives up on the short inner loops of a neighbour search (possible aliasing, tiny trip counts).
Here the vectors are explicit: a variable holds `FLOATS` float64 or `SHORTS` int16 numbers in a register, and every
operation is one or two instructions on all of them. ``a - b``, ``a <= b`` (a mask) and ``&``, ``^`` of masks are
written as they are; the functions below do the rest. Nothing rounds but differences.
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
    """A vector of numbers, or a mask: one bit for each."""

    def __init__(self, element, width, scalar):
        self.element, self.width, self.vector = element, width, ir.VectorType(scalar, width)
        self.real = element == types.float64
        self.suffix = f"v{width}" + ("f64" if self.real else "i16")
        super().__init__(name=f"Lanes({element}, {width})")


class _Flat(types.Type):
    """Memory of numbers of one type."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Flat({dtype})")


@register_model(_Lanes)
@register_model(_Flat)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm, kind):
        lanes = isinstance(kind, _Lanes)
        held = kind.vector if lanes else dmm.lookup(kind.dtype).get_data_type().as_pointer()
        super().__init__(dmm, kind, held)


_KINDS = {
    types.float64: _Lanes(types.float64, FLOATS, ir.DoubleType()),
    types.int16: _Lanes(types.int16, SHORTS, ir.IntType(16)),
}
_MASKS = {width: _Lanes(types.boolean, width, ir.IntType(1)) for width in (FLOATS, SHORTS)}


@intrinsic
def flat(typingctx, value):
    """The memory of a contiguous array, or of all arrays of a tuple, read and written by one index.

    It has neither a length nor a count of its users, and no index is negative: a fraction of the code to compile.
    """

    def generate(context, builder, signature, args):
        return _flattened(context, builder, value, args[0])

    return _flat_kind(value)(value), generate


def _flat_kind(kind):
    if isinstance(kind, types.BaseTuple):
        parts, named = [_flat_kind(part) for part in kind.types], getattr(kind, "instance_class", None)
        return types.BaseTuple.from_types(parts, named)
    if isinstance(kind, types.Array) and kind.layout != "C":
        raise TypeError("kernels take contiguous arrays")
    return _Flat(kind.dtype) if isinstance(kind, types.Array) else kind


def _flattened(context, builder, kind, value):
    if isinstance(kind, types.BaseTuple):
        held = [builder.extract_value(value, i) for i in range(len(kind.types))]
        parts = [_flattened(context, builder, part, one) for part, one in zip(kind.types, held)]
        return context.make_tuple(builder, _flat_kind(kind), parts)
    return context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value


def _element(context, builder, signature, args):
    return builder.gep(args[0], [context.cast(builder, args[1], signature.args[1], types.intp)])


def _pointer(context, builder, signature, args):
    """Address of ``memory[offset]`` as a pointer to a vector."""
    vector = _KINDS[signature.args[0].dtype].vector
    return builder.bitcast(_element(context, builder, signature, args), vector.as_pointer())


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
def pick(typingctx, a, lane):
    """The number in one lane."""
    return a.element(a, lane), lambda context, builder, signature, args: builder.extract_element(*args)


def _operator(sign, build, mask=False):
    """Define ``a sign b`` of two vectors of a kind; the result is of that kind, or a mask."""

    @type_callable(sign)
    def type_result(context):
        return lambda a, b: (_MASKS[a.width] if mask else a) if isinstance(a, _Lanes) else None

    @lower_builtin(sign, _Lanes, _Lanes)
    def lower(context, builder, signature, args):
        return build(builder, signature.args[0], *args)


def _of_two(build):
    @intrinsic
    def function(typingctx, a, b):
        return a(a, b), lambda context, builder, signature, args: build(builder, a, *args)

    return function


def _of_one(build, result=lambda kind: types.int64):
    @intrinsic
    def function(typingctx, a):
        return result(a)(a), lambda context, builder, signature, args: build(builder, a, *args)

    return function


def _call(builder, name, kind, result, *args):
    signature = ir.FunctionType(result, [a.type for a in args])
    return builder.call(builder.module.declare_intrinsic(f"llvm.{name}.{kind.suffix}", (), signature), args)


def _compare(builder, sign, kind, a, b):
    return builder.fcmp_ordered(sign, a, b) if kind.real else builder.icmp_signed(sign, a, b)


def _difference(builder, kind, a, b):
    return builder.fsub(a, b) if kind.real else builder.sub(a, b)


def _gap(builder, kind, a, b):
    apart = _difference(builder, kind, a, b)
    if kind.real:
        return _call(builder, "fabs", kind, kind.vector, apart)
    return _call(builder, "abs", kind, kind.vector, apart, ir.Constant(ir.IntType(1), 0))


def _extreme(name):
    def build(builder, kind, a):
        reduce = f"vector.reduce.{'f' if kind.real else 's'}{name}"
        return _call(builder, reduce, kind, kind.vector.element, a)

    return build


_operator(operator.sub, _difference)
_operator(operator.le, lambda builder, kind, a, b: _compare(builder, "<=", kind, a, b), mask=True)
_operator(operator.and_, lambda builder, kind, a, b: builder.and_(a, b))
_operator(operator.xor, lambda builder, kind, a, b: builder.xor(a, b))

# Lane by lane |a - b|, the larger and the smaller number; a count, one more where a mask holds.
gap = _of_two(_gap)
larger = _of_two(lambda builder, kind, a, b: builder.select(_compare(builder, ">", kind, a, b), a, b))
smaller = _of_two(lambda builder, kind, a, b: builder.select(_compare(builder, "<", kind, a, b), a, b))
tally = _of_two(lambda builder, kind, total, mask: builder.sub(total, builder.sext(mask, kind.vector)))

# The largest and the smallest lane.
largest = _of_one(_extreme("max"), lambda kind: kind.element)
smallest = _of_one(_extreme("min"), lambda kind: kind.element)

# A mask as an integer, lane 0 in the lowest bit; the place of an integer's lowest set bit; the number of its set bits.
bits = _of_one(lambda build, kind, a: build.zext(build.bitcast(a, ir.IntType(kind.width)), ir.IntType(64)))
first = _of_one(lambda builder, kind, a: builder.cttz(a, ir.Constant(ir.IntType(1), 1)))
ones = _of_one(lambda builder, kind, a: builder.ctpop(a))
