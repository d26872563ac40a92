"""Uniform random numbers: Philox on LANES counters at a time, bit-identical to sparkdl.philox.

The words are the key, numbers per example, examples, the addresses of ids, epoch and numbers, and
the layout of the numbers: bytes between examples, numbers per contiguous part, bytes between parts
and between numbers. Channels-last images consist of several parts.
"""

from functools import cache

import numpy as np

from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import FIRST, counting, module, pointer, share, word
from sparkdl.engine.native.llvm_code import LANES, Code, IrVector, vector_type
from sparkdl.engine.native.memory import short_count
from sparkdl.engine.operands import Operand
from sparkdl.errors import UnsupportedError
from sparkdl.philox import KEY_STEPS, MULTIPLIERS, key_of

KEY, COUNT, ROWS, IDS, EPOCH, NUMBERS, APART, PART, TO_PART, TO_NEXT = range(FIRST, FIRST + 10)
BLOCKS, ROUNDS, WORK = 4 * LANES, 10, 8  # numbers at a time; one costs as much as WORK bytes


def uniform_kernel(op, ids, epoch, numbers, compiler):
    """Returns a call that fills `numbers` as UniformOp does.

    Raises
    ------
    UnsupportedError
        For types and layouts that are left to numpy.
    """
    if (ids.dtype, epoch.dtype, numbers.dtype) != (np.uint64, np.uint64, np.float32):
        raise UnsupportedError("ids and epoch must be uint64")
    if ids.strides != (8,):
        raise UnsupportedError("ids must lie behind one another")
    count = int(np.prod(op.to, dtype=np.int64))
    function = compiler.function(text(parts(numbers)[2] != 4 or parts(numbers)[0] != count))
    low, high = key_of(op.seed, op.stream)
    rows, apart, (part, to_part, to_next) = len(ids), numbers.strides[0], parts(numbers)
    [key] = np.array([low | high << 32], np.uint64).view(np.int64).tolist()
    walk = (rows, apart), (-(-count // part) if part else 0, to_part), (part, to_next)
    operands = (
        Operand("ids", ids, "uint64", ((rows, 8),)),
        Operand("epoch", epoch, "uint64", ()),
        Operand("numbers", numbers, "float32", walk),
    )
    words = [key, count, rows, *operands, apart, part, to_part, to_next]
    return bind(function, words, WORK * numbers.nbytes)


def parts(numbers):
    """Returns (numbers per part, bytes between parts, bytes between numbers) of an example."""
    axes = [(n, s) for n, s in zip(numbers.shape[1:], numbers.strides[1:], strict=True) if n != 1]
    merged = []
    for size, stride in axes:
        if merged and merged[-1][1] == size * stride:
            size *= merged.pop()[0]
        merged.append((size, stride))
    if len(merged) > 2:
        raise UnsupportedError("the numbers of an example lie in no order that is compiled")
    (_, between), (length, step) = [(1, 0), (1, 4), *merged][-2:]
    return length, between, step


@cache
def text(scattered):
    """Returns the function's text, for contiguous or `scattered` numbers."""
    code = Code()
    begin, end = share(code, word(code, ROWS), 1)
    key, count = word(code, KEY), word(code, COUNT)
    keys = [code.define(f"trunc i64 {k} to i32") for k in (key, upper_word(code, key))]
    epoch = scalar(code, pointer(code, EPOCH))
    ids, numbers, apart = pointer(code, IDS), pointer(code, NUMBERS), word(code, APART)
    with counting(code, begin, end, 1) as row:
        number = code.define(f"load i64, ptr {code.pointer(ids, 'i64', row)}")
        low = scalar_of(code, number)
        high = scalar_of(code, upper_word(code, number))
        base = code.pointer(numbers, "i8", code.define(f"mul i64 {row}, {apart}"))
        with counting(code, "0", count, BLOCKS) as first:
            block = places(code, code.define(f"lshr i64 {first}, 2"))
            words = philox((low, high, epoch, block), keys)
            values = [(w >> 8).bits("int32").cast("float32") * 2.0**-24 for w in words]
            write = scatter if scattered else store
            write(code, values, base, first, count)
    return module(code)


def upper_word(code, wide):
    return code.define(f"lshr i64 {wide}, 32")


def scalar(code, address):
    return scalar_of(code, code.define(f"load i64, ptr {address}"))


def scalar_of(code, number):
    """Returns the low word of a number, in all lanes."""
    return code.splat("uint32", code.define(f"trunc i64 {number} to i32"))


def places(code, first, step=1):
    """Returns first, first + step ... as uint32 lanes."""
    steps = ", ".join(f"i32 {i * step}" for i in range(LANES))
    return scalar_of(code, first) + IrVector(code, "uint32", f"<{steps}>")


def philox(counter, keys):
    """Returns four vectors of random words; see sparkdl.philox."""
    c0, c1, c2, c3 = counter
    code = c0.code
    for turn in range(ROUNDS):
        steps = [(turn * step) % (1 << 32) for step in KEY_STEPS]
        k0, k1 = (
            code.splat("uint32", code.define(f"add i32 {key}, {step}"))
            for key, step in zip(keys, steps, strict=True)
        )
        low, high = (c.cast("uint64") * int(m) for c, m in zip((c0, c2), MULTIPLIERS, strict=True))
        c0, c1, c2, c3 = (
            (high >> 32).cast("uint32") ^ c1 ^ k0,
            high.cast("uint32"),
            (low >> 32).cast("uint32") ^ c3 ^ k1,
            low.cast("uint32"),
        )
    return c0, c1, c2, c3


def store(code, values, base, first, count):
    """Stores the four numbers of each block contiguously."""
    pairs = [interleave(code, values[i], values[i + 1]) for i in (0, 2)]
    order = [(i // 4) * 2 + (i % 4 // 2) * 2 * LANES + i % 2 for i in range(BLOCKS)]
    wide, half = f"<{BLOCKS} x float>", f"<{2 * LANES} x float>"
    mask = ", ".join(f"i32 {i}" for i in order)
    all_ = code.define(
        f"shufflevector {half} {pairs[0]}, {half} {pairs[1]}, <{BLOCKS} x i32> <{mask}>"
    )
    numbers = ", ".join(f"i32 {i}" for i in range(BLOCKS))
    rest = short_count(code, code.define(f"sub i64 {count}, {first}"), BLOCKS)
    start = code.define(f"insertelement <{BLOCKS} x i32> poison, i32 {rest}, i32 0")
    zeros = f"<{BLOCKS} x i32> zeroinitializer"
    limit = code.define(f"shufflevector <{BLOCKS} x i32> {start}, <{BLOCKS} x i32> poison, {zeros}")
    in_range = code.define(f"icmp slt <{BLOCKS} x i32> <{numbers}>, {limit}")
    at = ("ptr", code.pointer(base, "float", first))
    function = f"llvm.masked.store.v{BLOCKS}f32.p0"
    mask = (f"<{BLOCKS} x i1>", in_range)
    code.add(code.call("void", function, (wide, all_), at, ("i32", 4), mask))


def interleave(code, x, y):
    """Returns x0 y0 x1 y1 ..."""
    order = ", ".join(f"i32 {i // 2 + i % 2 * LANES}" for i in range(2 * LANES))
    kinds = f"{x.typed}, {y.typed}, <{2 * LANES} x i32> <{order}>"
    return code.define(f"shufflevector {kinds}")


def scatter(code, values, base, first, count):
    """Stores each number at its position, computed from part and offset by exact division."""
    part = code.splat("int64", word(code, PART))
    to_part, to_next = (code.splat("int64", word(code, w)) for w in (TO_PART, TO_NEXT))
    end = code.splat("int64", count)
    addresses = f"<{LANES} x ptr>"
    for i, value in enumerate(values):
        place = places(code, code.define(f"add i64 {first}, {i}"), step=4).cast("int64")
        quotient = (place.cast("float64") / part.cast("float64")).cast("int64")
        offset = quotient * to_part + (place - quotient * part) * to_next
        at = code.define(f"getelementptr i8, ptr {base}, {vector_type('int64')} {offset.name}")
        in_range = place < end
        name, mask = (
            f"llvm.masked.scatter.v{LANES}f32.v{LANES}p0",
            (in_range.type, in_range.name),
        )
        to = (addresses, at)
        code.add(code.call("void", name, (value.type, value.name), to, ("i32", 4), mask))
