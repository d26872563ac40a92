"""The loop over memory around a chain: LANES numbers at a time, the rest under a mask.

A function takes the address of 64-bit words: thread_num and num_threads of OpenMP (0: alone), the
length of a row, the number of rows, the operands' addresses, then for each outer axis its length
and the operands' strides in bytes. So one function serves every shape, and every thread count.
"""

from dataclasses import dataclass

from sparkdl.engine.backends.native.code import LANES, TYPES, Code, Vector, bits_of, vector_type
from sparkdl.engine.backends.native.operations import apply, converted

GRAIN = 64  # numbers: threads share no cache line of an array
THREAD, THREADS, LENGTH, ROWS, FIRST = range(5)  # places among the words
NAME = "kernel"


@dataclass(frozen=True)
class Loop:
    """What the machine code depends on.

    Parameters
    ----------
    steps, results : of a Chain
    kinds : the numpy type of each step's result
    inputs, outputs : the numpy type of each operand
    wide : for each input whether a row holds many numbers, or one that all share
    axes : how many outer axes there are; threads share their rows, or without them the one row
    """

    steps: tuple
    results: tuple
    kinds: tuple
    inputs: tuple
    outputs: tuple
    wide: tuple
    axes: int


def function(loop):
    """The text of a module with one function, NAME.

    Raises
    ------
    UnsupportedError
        Where an operation is not compiled.
    """
    code = Code()
    length, rows = word(code, LENGTH), word(code, ROWS)
    begin, end = share(code, rows if loop.axes else length, 1 if loop.axes else GRAIN)
    pointers = [pointer(code, FIRST + i) for i in range(len(loop.inputs) + len(loop.outputs))]
    if not loop.axes:
        along_row(code, loop, pointers, begin, end)
    else:
        with counting(code, begin, end, 1) as row:
            along_row(code, loop, moved(code, loop, pointers, row), "0", length)
    body = "\n  ".join([*code.lines, "ret void"])
    attributes = 'nounwind "prefer-vector-width"="512"'
    text = f"define void @{NAME}(ptr %words) {attributes} {{\n  {body}\n}}"
    return "\n".join([text, *sorted(code.declared.values())]) + "\n"


def word(code, index):
    return code.define(f"load i64, ptr {code.pointer('%words', 'i64', index)}")


def pointer(code, index):
    return code.define(f"load ptr, ptr {code.pointer('%words', 'i64', index)}")


def share(code, total, grain):
    """(begin, end) of what this thread works on."""
    number, count = pointer(code, THREAD), pointer(code, THREADS)
    alone = code.define(f"icmp eq ptr {number}, null")
    one, several, go = (code.name()[1:] for _ in range(3))
    code.add(f"br i1 {alone}, label %{one}, label %{several}")
    code.add(f"{one}:\n  br label %{go}")
    code.add(f"{several}:")
    me, threads = (
        code.define(f"zext i32 {code.define(f'call i32 {f}()')} to i64") for f in (number, count)
    )
    grains = code.define(f"add i64 {total}, {grain - 1}")
    grains = code.define(f"udiv i64 {grains}, {grain}")
    above = code.define(f"sub i64 {code.define(f'add i64 {grains}, {threads}')}, 1")
    each = code.define(f"mul i64 {code.define(f'udiv i64 {above}, {threads}')}, {grain}")
    first = least(code, code.define(f"mul i64 {me}, {each}"), total)
    last = least(code, code.define(f"add i64 {first}, {each}"), total)
    code.add(f"br label %{go}\n{go}:")
    begin = code.define(f"phi i64 [0, %{one}], [{first}, %{several}]")
    return begin, code.define(f"phi i64 [{total}, %{one}], [{last}, %{several}]")


def least(code, a, b):
    return code.define(f"select i1 {code.define(f'icmp ult i64 {a}, {b}')}, i64 {a}, i64 {b}")


class counting:
    """`with counting(...) as i`: what is added inside runs for i from begin below end."""

    def __init__(self, code, begin, end, step):
        self.code, self.begin, self.end, self.step = code, begin, end, step
        self.entry, self.top, self.inside, self.latch, self.after = (
            code.name()[1:] for _ in range(5)
        )
        self.index, self.next = code.name(), code.name()

    def __enter__(self):
        add = self.code.add
        add(f"br label %{self.entry}\n{self.entry}:\n  br label %{self.top}\n{self.top}:")
        add(f"{self.index} = phi i64 [{self.begin}, %{self.entry}], [{self.next}, %{self.latch}]")
        more = self.code.define(f"icmp ult i64 {self.index}, {self.end}")
        add(f"br i1 {more}, label %{self.inside}, label %{self.after}\n{self.inside}:")
        return self.index

    def __exit__(self, *error):
        add = self.code.add
        add(f"br label %{self.latch}\n{self.latch}:")
        add(f"{self.next} = add i64 {self.index}, {self.step}")
        add(f"br label %{self.top}\n{self.after}:")


def moved(code, loop, pointers, row):
    """The operands' addresses in a row; its number is taken apart from the innermost axis on."""
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
    return FIRST + operands + axis * (1 + operands)


def along_row(code, loop, pointers, begin, end):
    """The chain on the numbers from begin to end of a row."""
    shared = {
        i: code.splat(kind, code.define(f"load {TYPES[kind]}, ptr {pointers[i]}"))
        for i, kind in enumerate(loop.inputs)
        if not loop.wide[i]
    }
    rest = code.define(f"and i64 {code.define(f'sub i64 {end}, {begin}')}, {LANES - 1}")
    whole = code.define(f"sub i64 {end}, {rest}")
    with counting(code, begin, whole, LANES) as i:
        element(code, loop, pointers, shared, i, None)
    some = code.define(f"icmp ne i64 {rest}, 0")
    tail, done = code.name()[1:], code.name()[1:]
    code.add(f"br i1 {some}, label %{tail}, label %{done}\n{tail}:")
    element(code, loop, pointers, shared, whole, below(code, rest))
    code.add(f"br label %{done}\n{done}:")


def below(code, count):
    """The mask of the first `count` lanes."""
    numbers = ", ".join(f"i32 {i}" for i in range(LANES))
    limit = code.splat("int32", code.define(f"trunc i64 {count} to i32"))
    return Vector(code, "int32", f"<{numbers}>").compare("lt", limit)


def element(code, loop, pointers, shared, index, mask):
    """LANES numbers: read, go through the chain, and are written."""
    values = [
        shared[i] if i in shared else load(code, kind, pointers[i], index, mask)
        for i, kind in enumerate(loop.inputs)
    ]
    for (op, operands), kind in zip(loop.steps, loop.kinds, strict=True):
        values.append(apply(op, [values[i] for i in operands], kind))
    count = len(loop.inputs)
    for base, kind, i in zip(pointers[count:], loop.outputs, loop.results, strict=True):
        store(code, converted(values[count + i], kind), base, index, mask)


def load(code, kind, base, index, mask):
    at, wide = code.pointer(base, TYPES[kind], index), vector_type(kind)
    if mask is None:
        return code.vector(kind, f"load {wide}, ptr {at}, align {bits_of(kind) // 8}")
    name, align = f"llvm.masked.load.{suffix(kind)}.p0", ("i32", bits_of(kind) // 8)
    rest = (mask.type, mask.name), (wide, "zeroinitializer")
    return code.vector(kind, code.call(wide, name, ("ptr", at), align, *rest))


def store(code, vector, base, index, mask):
    kind = vector.kind
    at = code.pointer(base, TYPES[kind], index)
    if mask is None:
        code.add(f"store {vector.typed}, ptr {at}, align {bits_of(kind) // 8}")
        return
    name, align = f"llvm.masked.store.{suffix(kind)}.p0", ("i32", bits_of(kind) // 8)
    rest = ("ptr", at), align, (mask.type, mask.name)
    code.add(code.call("void", name, (vector.type, vector.name), *rest))


def suffix(kind):
    return f"v{LANES}{TYPES[kind][0].replace('d', 'f')}{bits_of(kind)}"
