"""The CUDA C of an elementwise chain: each thread takes some numbers of a row in a grid loop.

Numbers of an operand are DENSE along a row, so that V of them are read at once, or APART, or one is
SHARED by the row. The parameters are the total of groups of V, the length of a row, the sizes of
the axes above it, innermost first, and, for each operand, its address, its stride in bytes along a
row, and its strides along the axes above.
"""

from dataclasses import dataclass

from sparkdl.engine.backends.cuda.kernels.expressions import expression
from sparkdl.engine.backends.cuda.kernels.modules import C_TYPES, complete_source, wide

DENSE, APART, SHARED = "dense", "apart", "shared"


@dataclass(frozen=True, kw_only=True)
class ChainSource:
    """A kernel to be generated.

    Parameters
    ----------
    steps, results : fields of a ChainOp
    kinds : the numpy type of each step's result
    inputs, outputs : the numpy type of each operand
    layouts : DENSE, APART or SHARED for each operand
    axes : number of axes above the rows
    at_once : numbers of a row per thread
    large : whether counts need 64 bits
    """

    steps: tuple
    results: tuple
    kinds: tuple
    inputs: tuple
    outputs: tuple
    layouts: tuple
    axes: int
    at_once: int
    large: bool

    @property
    def operands(self):
        return (*self.inputs, *self.outputs)


def text(source):
    """Returns the module's source; the kernel is `chain`."""
    head = ["Count groups", "Count length", *(f"Count n{a}" for a in range(source.axes))]
    for i in range(len(source.operands)):
        constant = "const " if i < len(source.inputs) else ""
        head += [f"{constant}char* p{i}", f"i64 next{i}"]
        head += [f"i64 next{i}_{a}" for a in range(source.axes)]
    lines = [
        f"typedef {'u64' if source.large else 'u32'} Count;",
        f'extern "C" __global__ void chain({", ".join(head)}) {{',
        f"  const Count per_row = (length + {source.at_once - 1}) / {source.at_once};",
        "  Count g = blockIdx.x * (Count)blockDim.x + threadIdx.x;",
        "  for (; g < groups; g += (Count)gridDim.x * blockDim.x) {",
        *(f"    {line}" for line in body(source)),
        "  }",
        "}",
    ]
    return complete_source("\n".join(lines))


def body(source):
    """Yields lines for one group: locate it, read its numbers, compute, write the results."""
    count, at_once = len(source.inputs), source.at_once
    yield from place(source)
    yield "const Count left = length - first;"
    for i, kind in enumerate(source.inputs):
        yield read(i, C_TYPES[kind], source.layouts[i], at_once)
    for i, kind in enumerate(source.outputs, count):
        yield f"Pack<{C_TYPES[kind]}, {at_once}> x{i};"
    yield "#pragma unroll"
    yield f"for (int v = 0; v < {at_once}; ++v) {{"
    yield from (f"  {line}" for line in steps(source))
    yield "}"
    for i, kind in enumerate(source.outputs, count):
        yield write(i, C_TYPES[kind], source.layouts[i], at_once)


def place(source):
    """Yields the code that computes the addresses of a group's operands."""
    moved = source.axes or any(layout == APART for layout in source.layouts)
    if not source.axes:
        yield f"const Count first = g * {source.at_once};"
    else:
        yield f"const Count first = g % per_row * {source.at_once};"
        yield "Count row = g / per_row;"
    for axis in range(source.axes):
        last = axis == source.axes - 1
        yield f"const i64 at{axis} = row{'' if last else f' % n{axis}'};"
        if not last:
            yield f"row /= n{axis};"
    for i in range(len(source.operands)):
        offset = "".join(f" + at{a} * next{i}_{a}" for a in range(source.axes)) if moved else ""
        yield f"auto q{i} = p{i}{offset};"


def read(i, c_type, layout, at_once):
    """Returns the code that reads all numbers of an input, as x{i}."""
    if layout == SHARED:
        return f"const {c_type} x{i} = *(const {c_type}*)q{i};"
    if layout == DENSE:
        return f"const auto x{i} = take<{at_once}>((const {c_type}*)q{i} + first, left);"
    return (
        f"Pack<{c_type}, {at_once}> x{i};\n#pragma unroll\n"
        f"for (int v = 0; v < {at_once}; ++v) x{i}.at[v] = "
        f"*(const {c_type}*)(q{i} + (i64)(first + (v < left ? v : 0)) * next{i});"
    )


def write(i, c_type, layout, at_once):
    if layout != APART:
        return f"put<{at_once}>(({c_type}*)q{i} + first, x{i}, left);"
    return (
        f"for (int v = 0; v < {at_once}; ++v) if (v < left) "
        f"*({c_type}*)(q{i} + (i64)(first + v) * next{i}) = x{i}.at[v];"
    )


def steps(source):
    """Yields each operation on one number; results are rounded as if stored in memory."""
    count = len(source.inputs)
    for i, kind in enumerate(source.inputs):
        number = f"x{i}" if source.layouts[i] == SHARED else f"x{i}.at[v]"
        yield f"const {wide(kind)} v{i} = wide({number});"
    known = list(source.inputs)
    for (op, operands), kind in zip(source.steps, source.kinds, strict=True):
        names = [f"v{i}" for i in operands]
        value = expression(op, [known[i] for i in operands], names)
        yield f"const {wide(kind)} v{len(known)} = {in_kind(value, kind)};"
        known.append(kind)
    for i, (result, kind) in enumerate(zip(source.results, source.outputs, strict=True), count):
        yield f"x{i}.at[v] = narrow<{C_TYPES[kind]}>(v{count + result});"


def in_kind(value, kind):
    if kind == "bool":
        return f"({value}) != 0"
    return f"rounded<{C_TYPES[kind]}>(({wide(kind)})({value}))"
