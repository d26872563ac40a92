"""Long short-term memory over whole sequences in one pass, with weights packed into panels.

A thread does all steps of some sequences, so threads never wait for each other. At each step it
adds, LANES units at a time, the products of the four gates, a group of sequences after the other,
and then computes the new states. Terms are added in their order after the bias, so neither threads
nor the number of sequences change a result.
"""

from dataclasses import dataclass
from functools import cache
from math import ceil

from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import counting, least, module, most, share
from sparkdl.engine.native.formulas import sigmoid, tanh
from sparkdl.engine.native.llvm_code import LANES, Code
from sparkdl.engine.native.memory import load, store
from sparkdl.engine.native.register_products import AT_ONCE, ROWS, add_products
from sparkdl.engine.native.threads import WORTH_THREADS
from sparkdl.engine.native.tiles import BYTES, KIND, TileAddresses
from sparkdl.engine.operands import Operand

GATES = 4
PANEL = LANES * BYTES  # bytes per term
STRIDES = ("x_row", "x_step", "y_row", "y_step")
ARRAYS = ("x", "wx", "wh", "bias", "h", "c", "y", "last_h", "last_c", "z")
NAMES = ("groups", "long", "steps", "features", "units", *STRIDES, *ARRAYS)


@dataclass(frozen=True)
class Groups:
    """Sequences in groups: the first `long` ones have `size` sequences, the others one less."""

    count: int
    size: int
    long: int

    @classmethod
    def of(cls, sequences, threads):
        """Returns groups of at most ROWS sequences, as many for each thread."""
        count = threads * ceil(ceil(sequences / ROWS) / threads)
        size = ceil(sequences / count)
        return cls(count, size, sequences - count * (size - 1))


def lstm_kernel(inputs, outputs, z, backwards, compiler, threads):
    """Returns a call that fills the outputs.

    Parameters
    ----------
    inputs : float32: x (N, T, F) with contiguous features, wx (panels, F, LANES), wh (panels, H,
        LANES), bias (4 H,), h and c (N, H); H is a multiple of LANES, and panels are columns of the
        weights in their order
    outputs : float32: y (N, T, H) with contiguous units, the last h and c (N, H)
    z : float32, (N, 4, LANES), working memory
    backwards : from the last step to the first
    threads : to which the sequences are split; others give the same results
    """
    (x, wx, wh, bias, h, c), (y, *last) = inputs, outputs
    (count, steps, features), units = x.shape, y.shape[2]
    groups = Groups.of(count, threads)
    words = {"groups": groups.count, "long": groups.long, "steps": steps}
    words |= {"features": features, "units": units}
    for name, array in (("x", x), ("y", y)):
        turned = array[:, ::-1] if backwards else array
        words |= {f"{name}_row": array.strides[0], f"{name}_step": turned.strides[1]}
        words[name] = sequence_operand(name, turned)
    sizes = {"wx": GATES * units * features, "wh": GATES * units * units, "bias": GATES * units}
    sizes |= {"h": count * units, "c": count * units, "last_h": count * units}
    sizes |= {"last_c": count * units, "z": count * GATES * LANES}
    flat = {"wx": wx, "wh": wh, "bias": bias, "h": h, "c": c, "z": z}
    flat |= dict(zip(("last_h", "last_c"), last, strict=True))
    words |= {name: Operand(name, flat[name], KIND, ((n, BYTES),)) for name, n in sizes.items()}
    function = compiler.function(text(groups.size, features % AT_ONCE > 0))
    return bind(function, [words[name] for name in NAMES], WORTH_THREADS)


def sequence_operand(name, array):
    axes = zip(array.shape, (*array.strides[:2], BYTES), strict=True)
    return Operand(name, array, KIND, tuple(axes))


@cache
def text(size, has_rest):
    """Returns the function's text, for groups of `size` sequences.

    `has_rest` tells whether the features are no multiple of AT_ONCE.
    """
    code = Code()
    at = TileAddresses(code, NAMES)
    groups = share(code, at.word("groups"), 1)
    rows = [first_row(at, group, size) for group in groups]
    state = at.integer("mul", at.word("units"), BYTES)
    copy_rows(at, rows, (at.pointer("c"), state), (at.pointer("last_c"), state))
    before = at.pointer("h"), state
    with counting(code, "0", at.word("steps"), 1) as step:
        x, y = (at.shift(at.pointer(n), (step, at.word(f"{n}_step"))) for n in "xy")
        h = states_before(at, step, y, before)
        with counting(code, "0", at.integer("udiv", at.word("units"), LANES), 1) as block:
            with counting(code, "0", GATES, 1) as gate:
                emit_products(at, groups, size, (x, h), (block, gate), has_rest)
            with counting(code, *rows, 1) as row:
                emit_states(at, row, y, block)
    last = at.integer("sub", at.word("steps"), 1)
    y = at.shift(at.pointer("y"), (last, at.word("y_step")))
    copy_rows(at, rows, (y, at.word("y_row")), (at.pointer("last_h"), state))
    return module(code)


def first_row(at, group, size):
    """Returns the first sequence of a group."""
    short = at.integer("mul", group, size - 1)
    return at.integer("add", short, least(at.code, group, at.word("long")))


def copy_rows(at, rows, source, target):
    """Emits a copy of the states of some sequences; both sides are (address, bytes per row)."""
    code = at.code
    with counting(code, *rows, 1) as row, counting(code, "0", at.word("units"), LANES) as unit:
        start, end = (at.shift(address, (row, stride)) for address, stride in (source, target))
        store(code, load(code, KIND, start, unit, None), end, unit, None)


def states_before(at, step, y, first):
    """Returns (address, bytes per row) of the outputs h that enter a step: of y, or the first."""
    code = at.code
    is_first = code.define(f"icmp eq i64 {step}, 0")
    back = at.integer("sub", "0", at.word("y_step"))
    address = code.pointer(y, "i8", back)
    return (
        code.define(f"select i1 {is_first}, ptr {first[0]}, ptr {address}"),
        code.define(f"select i1 {is_first}, i64 {first[1]}, i64 {at.word('y_row')}"),
    )


def emit_products(at, groups, size, sources, place, has_rest):
    """Emits a gate's z of a block of units, for all sequences of a thread."""
    code, (begin, end), (x, (h, h_row)), (block, gate) = at.code, groups, sources, place
    blocks = at.integer("udiv", at.word("units"), LANES)
    number = at.integer("add", at.integer("mul", gate, blocks), block)
    lengths = at.word("features"), at.word("units")
    panels = [
        at.shift(at.pointer(name), (number, at.integer("mul", length, PANEL)))
        for name, length in zip(("wx", "wh"), lengths, strict=True)
    ]
    bias = load(code, KIND, at.pointer("bias"), at.integer("mul", number, LANES), None)
    z = at.shift(at.pointer("z"), (gate, PANEL))
    long = at.word("long")
    kinds = (size, begin, least(code, end, long)), (size - 1, most(code, begin, long), end)
    for count, one, last in kinds:
        if count:
            with counting(code, one, last, 1) as group:
                row = first_row(at, group, size)
                xs, hs, zs = (
                    [at.shift(start, (at.integer("add", row, i), stride)) for i in range(count)]
                    for start, stride in ((x, at.word("x_row")), (h, h_row), (z, GATES * PANEL))
                )
                sums = add_all(code, xs, panels[0], lengths[0], [bias] * count, has_rest)
                sums = add_products(code, hs, panels[1], ("0", lengths[1]), sums)
                for total, target in zip(sums, zs, strict=True):
                    store(code, total, target, "0", None)


def add_all(code, rows, panel, length, sums, has_rest):
    """Emits sums += rows x panel over all terms, in their order; returns the new sums."""
    if not has_rest:
        return add_products(code, rows, panel, ("0", length), sums)
    whole = code.define(f"and i64 {length}, {-AT_ONCE}")
    sums = add_products(code, rows, panel, ("0", whole), sums)
    return add_products(code, rows, panel, (whole, length), sums, at_once=1)


def emit_states(at, row, y, block):
    """Emits the new states of a block of units of a sequence."""
    code, unit = at.code, at.integer("mul", block, LANES)
    z = at.shift(at.pointer("z"), (row, GATES * PANEL))
    cell = at.shift(at.pointer("last_c"), (row, at.integer("mul", at.word("units"), BYTES)))
    i, f, g, o = (load(code, KIND, z, gate * LANES, None) for gate in range(GATES))
    old = load(code, KIND, cell, unit, None)
    new = sigmoid(f) * old + sigmoid(i) * tanh(g)
    store(code, new, cell, unit, None)
    store(code, sigmoid(o) * tanh(new), at.shift(y, (row, at.word("y_row"))), unit, None)
