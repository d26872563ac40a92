"""The loop over memory around a chain: LANES numbers at a time, the rest under a mask.

Its words are the length of a row, the number of rows, the operands' addresses and strides along a
row, then for each outer axis its length and the operands' strides; strides are in bytes. One
function thus serves every shape.
"""

from dataclasses import dataclass

from sparkdl.engine.native.control import FIRST, counting, module, pointer, share, word
from sparkdl.engine.native.llvm_code import LANES, TYPES, Code
from sparkdl.engine.native.memory import below, gather, load, store
from sparkdl.engine.native.operations import apply, convert_vector

DENSE, APART, SHARED = "dense", "apart", "shared"
GRAIN = 64  # numbers: threads share no cache line
LENGTH, ROWS, OPERANDS = range(FIRST, FIRST + 3)  # indices of words


@dataclass(frozen=True)
class Loop:
    """The properties of a loop that determine its machine code.

    Parameters
    ----------
    steps, results : of a ChainOp
    kinds : the numpy type of each step's result
    inputs, outputs : the numpy type of each operand
    layouts : for each input, whether its numbers along a row are DENSE, APART, or one SHARED number
    axes : the number of outer axes; threads share their rows, or the single row if there are none
    """

    steps: tuple
    results: tuple
    kinds: tuple
    inputs: tuple
    outputs: tuple
    layouts: tuple
    axes: int


def function(loop):
    """Returns the text of the module of a loop.

    Raises
    ------
    UnsupportedError
        For operations that are not compiled.
    """
    code = Code()
    length, rows = word(code, LENGTH), word(code, ROWS)
    begin, end = share(code, rows if loop.axes else length, 1 if loop.axes else GRAIN)
    pointers = [pointer(code, OPERANDS + i) for i in range(len(loop.inputs) + len(loop.outputs))]
    if not loop.axes:
        along_row(code, loop, pointers, begin, end)
    else:
        with counting(code, begin, end, 1) as row:
            along_row(code, loop, row_pointers(code, loop, pointers, row), "0", length)
    return module(code)


def row_pointers(code, loop, pointers, row):
    """Returns the operands' addresses in a row; splits the number from the innermost axis out."""
    places, rest = [], row
    for axis in reversed(range(loop.axes)):
        size = word(code, outer_word(len(pointers), axis))
        places.append((axis, rest if axis == 0 else code.define(f"urem i64 {rest}, {size}")))
        if axis:
            rest = code.define(f"udiv i64 {rest}, {size}")
    for axis, place in places:
        for i, base in enumerate(pointers):
            stride = word(code, outer_word(len(pointers), axis) + 1 + i)
            offset = code.define(f"mul i64 {place}, {stride}")
            pointers = [*pointers[:i], code.pointer(base, "i8", offset), *pointers[i + 1 :]]
    return pointers


def outer_word(operands, axis):
    return OPERANDS + 2 * operands + axis * (1 + operands)


def along_row(code, loop, pointers, begin, end):
    """Emits the chain for the numbers from begin to end of a row."""
    readers = [reader(code, loop, pointers, i) for i in range(len(loop.inputs))]
    rest = code.define(f"and i64 {code.define(f'sub i64 {end}, {begin}')}, {LANES - 1}")
    full = code.define(f"sub i64 {end}, {rest}")
    with counting(code, begin, full, LANES) as i:
        element(code, loop, readers, pointers, i, None)
    some = code.define(f"icmp ne i64 {rest}, 0")
    tail, done = code.name()[1:], code.name()[1:]
    code.add(f"br i1 {some}, label %{tail}, label %{done}\n{tail}:")
    element(code, loop, readers, pointers, full, below(code, rest))
    code.add(f"br label %{done}\n{done}:")


def reader(code, loop, pointers, i):
    """Returns a function of (index, mask) that reads an input; shared numbers are read once."""
    kind, base = loop.inputs[i], pointers[i]
    if loop.layouts[i] == SHARED:
        value = code.splat(kind, code.define(f"load {TYPES[kind]}, ptr {base}"))
        return lambda index, mask: value
    if loop.layouts[i] == DENSE:
        return lambda index, mask: load(code, kind, base, index, mask)
    stride = code.splat("int64", word(code, OPERANDS + len(pointers) + i))
    return lambda index, mask: gather(code, kind, base, index, stride, mask)


def element(code, loop, readers, pointers, index, mask):
    """Emits the chain for LANES numbers: read, compute, write."""
    values = [read(index, mask) for read in readers]
    for (op, operands), kind in zip(loop.steps, loop.kinds, strict=True):
        values.append(apply(op, [values[i] for i in operands], kind))
    count = len(loop.inputs)
    for base, kind, i in zip(pointers[count:], loop.outputs, loop.results, strict=True):
        store(code, convert_vector(values[count + i], kind), base, index, mask)
