"""Vector loads and stores, optionally masked, of neighbours or of an address per lane."""

from sparkdl.engine.native.llvm_code import FLOATS, LANES, TYPES, IrVector, bits_of, vector_type


def below(code, count):
    """Returns the mask of the first `count` lanes."""
    limit = code.splat("int32", short_count(code, count, LANES))
    return number_lanes(code).compare("lt", limit)


def number_lanes(code, kind="int32"):
    """Returns the numbers of the lanes, from 0 on."""
    numbers = ", ".join(f"{TYPES[kind]} {i}" for i in range(LANES))
    return IrVector(code, kind, f"<{numbers}>")


def short_count(code, count, most):
    """Returns a count, or `most` if it is larger, as i32."""
    few = code.define(f"icmp slt i64 {count}, {most}")
    least = code.define(f"select i1 {few}, i64 {count}, i64 {most}")
    return code.define(f"trunc i64 {least} to i32")


def load(code, kind, base, index, mask, rest="zeroinitializer"):
    """Loads numbers; lanes outside the mask are `rest`."""
    at, wide = code.pointer(base, TYPES[kind], index), vector_type(kind)
    if mask is None:
        return code.vector(kind, f"load {wide}, ptr {at}, align {bits_of(kind) // 8}")
    name, align = f"llvm.masked.load.{suffix(kind)}.p0", ("i32", bits_of(kind) // 8)
    choice = (mask.type, mask.name), (wide, rest)
    return code.vector(kind, code.call(wide, name, ("ptr", at), align, *choice))


def gather(code, kind, base, index, stride, mask):
    """Loads numbers `stride` bytes apart, from position `index` on."""
    return gather_at(code, kind, find_places(code, base, index, stride), mask)


def find_places(code, base, index, stride):
    """Returns the addresses of what lies `stride` bytes apart, from position `index` on."""
    offsets = (code.splat("int64", index) + number_lanes(code, "int64")) * stride
    return code.define(f"getelementptr i8, ptr {base}, {offsets.typed}")


def gather_at(code, kind, at, mask):
    """Loads numbers from an address per lane; lanes outside the mask are 0."""
    wide, lanes = vector_type(kind), lane_mask(mask)
    name = f"llvm.masked.gather.{suffix(kind)}.v{LANES}p0"
    arguments = (f"<{LANES} x ptr>", at), ("i32", bits_of(kind) // 8), lanes
    return code.vector(kind, code.call(wide, name, *arguments, (wide, "zeroinitializer")))


def scatter_at(code, vector, at, mask):
    """Stores numbers at an address per lane of the mask."""
    name = f"llvm.masked.scatter.{suffix(vector.kind)}.v{LANES}p0"
    align = "i32", bits_of(vector.kind) // 8
    places = (f"<{LANES} x ptr>", at), align, lane_mask(mask)
    code.add(code.call("void", name, (vector.type, vector.name), *places))


def lane_mask(mask):
    return f"<{LANES} x i1>", "splat (i1 true)" if mask is None else mask.name


def store(code, vector, base, index, mask):
    kind = vector.kind
    at = code.pointer(base, TYPES[kind], index)
    if mask is None:
        code.add(f"store {vector.typed}, ptr {at}, align {bits_of(kind) // 8}")
        return
    name, align = f"llvm.masked.store.{suffix(kind)}.p0", ("i32", bits_of(kind) // 8)
    rest = ("ptr", at), align, (mask.type, mask.name)
    code.add(code.call("void", name, (vector.type, vector.name), *rest))


def prefetch(code, at, write=False):
    """Prefetches the cache line of an address, which need not be readable."""
    hints = [("i32", int(write)), ("i32", 3), ("i32", 1)]  # 3: high locality; 1: data
    code.add(code.call("void", "llvm.prefetch.p0", ("ptr", at), *hints))


def suffix(kind):
    """Returns LLVM's name for vectors of a kind, a suffix of intrinsics."""
    return f"v{LANES}{'f' if kind in FLOATS else 'i'}{bits_of(kind)}"
