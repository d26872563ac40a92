"""LLVM IR, collected line by line in `Code`; an IrVector is LANES numbers in a register.

An IrVector supports Python's operators, so polynomials read naturally. Nothing lets LLVM reorder or
contract: sums, products, quotients and roots are rounded as in numpy.
"""

import struct
from dataclasses import dataclass

import numpy as np

LANES = 16  # numbers per vector: one AVX-512 register of float32
# bfloat16 is kept as bits and computed as float32: LLVM's own type needs library functions that no
# process has, where the processor has no instructions for it.
TYPES = {"float32": "float", "float64": "double", "bfloat16": "i16", "mask": "i1", "bool": "i8"}
TYPES |= {f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS = ("float32", "float64")
ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


class Code:
    """The lines of a function, and the intrinsics that they call."""

    def __init__(self):
        self.lines, self.declared, self.count = [], {}, 0

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def add(self, line):
        self.lines.append(line)

    def define(self, expression):
        """Adds an assignment of an expression; returns its name."""
        name = self.name()
        self.add(f"{name} = {expression}")
        return name

    def vector(self, kind, expression):
        return IrVector(self, kind, self.define(expression))

    def call(self, result, function, *arguments):
        """Returns a call of an intrinsic with (type, value) pairs; `result` is a type."""
        types = ", ".join(type for type, _ in arguments)
        self.declared[function] = f"declare {result} @{function}({types})"
        values = ", ".join(f"{type} {value}" for type, value in arguments)
        return f"call {result} @{function}({values})"

    def pointer(self, base, type, index):
        return self.define(f"getelementptr {type}, ptr {base}, i64 {index}")

    def splat(self, kind, scalar):
        """Returns a scalar in all lanes."""
        wide = vector_type(kind)
        first = self.define(f"insertelement {wide} poison, {TYPES[kind]} {scalar}, i32 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        return self.vector(kind, f"shufflevector {wide} {first}, {wide} poison, {zeros}")


@dataclass(frozen=True, eq=False)
class IrVector:
    """LANES numbers of one kind: the name of a numpy type, or "mask" for results of comparisons.

    `mask`, if any, is the mask from which these zeros and ones were made.
    """

    code: Code
    kind: str
    name: str
    mask: object = None

    @property
    def type(self):
        return vector_type(self.kind)

    @property
    def typed(self):
        return f"{self.type} {self.name}"

    @property
    def floating(self):
        return self.kind in FLOATS

    def of(self, other):
        """Returns an operand as an IrVector of the same kind; numbers fill all lanes."""
        if isinstance(other, IrVector):
            if other.kind != self.kind:
                raise TypeError(f"{self.kind} beside {other.kind}")
            return other
        return IrVector(self.code, self.kind, literal(self.kind, other))

    def arithmetic(self, symbol, other, mirrored=False):
        x, y = self, self.of(other)
        x, y = (y, x) if mirrored else (x, y)
        name = "f" * self.floating + ARITHMETIC[symbol]
        return self.code.vector(self.kind, f"{name} {x.typed}, {y.name}")

    def __add__(self, other):
        return self.arithmetic("+", other)

    def __sub__(self, other):
        return self.arithmetic("-", other)

    def __mul__(self, other):
        return self.arithmetic("*", other)

    def __truediv__(self, other):
        return self.arithmetic("/", other)

    def __rsub__(self, other):
        return self.arithmetic("-", other, mirrored=True)

    def __rtruediv__(self, other):
        return self.arithmetic("/", other, mirrored=True)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self.code.vector(self.kind, f"fneg {self.typed}") if self.floating else 0 - self

    def __and__(self, other):
        return self.code.vector(self.kind, f"and {self.typed}, {self.of(other).name}")

    def __or__(self, other):
        return self.code.vector(self.kind, f"or {self.typed}, {self.of(other).name}")

    def __xor__(self, other):
        return self.code.vector(self.kind, f"xor {self.typed}, {self.of(other).name}")

    def __lshift__(self, bits):
        return self.code.vector(self.kind, f"shl {self.typed}, {self.of(bits).name}")

    def __rshift__(self, bits):
        """Shifts right, preserving the sign of signed kinds."""
        shift = "lshr" if self.kind[0] == "u" else "ashr"
        return self.code.vector(self.kind, f"{shift} {self.typed}, {self.of(bits).name}")

    def compare(self, condition, other):
        """Returns a mask; `condition` is eq, ne, gt, ge, lt or le. NaN differs from everything."""
        if self.floating:
            order = "u" if condition == "ne" else "o"
            test = f"fcmp {order}{condition}"
        else:
            sign = "" if condition in ("eq", "ne") else "u" if self.kind in UNSIGNED else "s"
            test = f"icmp {sign}{condition}"
        return self.code.vector("mask", f"{test} {self.typed}, {self.of(other).name}")

    def __gt__(self, other):
        return self.compare("gt", other)

    def __lt__(self, other):
        return self.compare("lt", other)

    def __ge__(self, other):
        return self.compare("ge", other)

    def __le__(self, other):
        return self.compare("le", other)

    def is_nan(self):
        return self.code.vector("mask", f"fcmp uno {self.typed}, {self.name}")

    def select(self, yes, no):
        """Selects by this mask, lane by lane."""
        yes = no.of(yes) if isinstance(no, IrVector) else yes
        return self.code.vector(
            yes.kind, f"select {self.typed}, {yes.typed}, {yes.type} {yes.of(no).name}"
        )

    def bits(self, kind):
        """Reinterprets the bits as another kind of the same width."""
        return self.code.vector(kind, f"bitcast {self.typed} to {vector_type(kind)}")

    def intrinsic(self, name, *others):
        """Returns an LLVM intrinsic of vectors of this kind."""
        suffix = f"v{LANES}{'f' if self.floating else 'i'}{bits_of(self.kind)}"
        arguments = [(self.type, self.of(x).name) for x in (self, *others)]
        return self.code.vector(
            self.kind, self.code.call(self.type, f"llvm.{name}.{suffix}", *arguments)
        )

    def sum(self):
        """Adds all lanes, in pairs; returns the scalar."""
        scalar = TYPES[self.kind]
        function = f"llvm.vector.reduce.fadd.v{LANES}f{bits_of(self.kind)}"
        call = self.code.call(scalar, function, (scalar, "-0.0"), (self.type, self.name))
        return self.code.define(call.replace("call", "call reassoc", 1))

    def largest(self):
        """Returns the largest number in all lanes; with a NaN among them, any of them."""
        result, apart = self, LANES // 2
        while apart:
            order = ", ".join(f"i32 {i ^ apart}" for i in range(LANES))
            wide = f"{result.typed}, {result.type} poison, <{LANES} x i32> <{order}>"
            other = self.code.vector(self.kind, f"shufflevector {wide}")
            result, apart = (result > other).select(result, other), apart // 2
        return result

    def fma(self, factor, term):
        """self factor + term, rounded once."""
        return self.intrinsic("fma", factor, term)

    def cast(self, kind):
        """Converts the numbers to another kind; masks become 0 and 1."""
        if kind == self.kind:
            return self
        if "bfloat16" in (kind, self.kind) and "float32" not in (kind, self.kind):
            return self.cast("float32").cast(kind)
        if kind == "bfloat16":
            return self.round_to_bfloat16()
        if self.kind == "bfloat16":
            return (self.bits("uint16").cast("uint32") << 16).bits("float32")
        instruction = conversion(self.kind, kind)
        if instruction is None:  # two kinds with the same bits
            return IrVector(self.code, kind, self.name)
        value = self.code.define(f"{instruction} {self.typed} to {vector_type(kind)}")
        return IrVector(self.code, kind, value, self if self.kind == "mask" else None)

    def round_to_bfloat16(self):
        """Rounds float32 to the nearest bfloat16, ties to even, identically on all hosts."""
        bits = self.bits("uint32")
        high = bits >> 16
        rounded = (bits + ((high & 1) + 0x7FFF)) >> 16
        return self.is_nan().select(high | 0x40, rounded).cast("uint16").bits("bfloat16")


UNSIGNED = ("mask", "bool", "uint8", "uint16", "uint32", "uint64")


def vector_type(kind):
    return f"<{LANES} x {TYPES[kind]}>"


def bits_of(kind):
    return 1 if kind == "mask" else 8 * np.dtype(kind).itemsize


def conversion(old, new):
    """Returns the instruction that converts one kind to another, or None if the bits stay."""
    if old in FLOATS and new in FLOATS:
        return "fpext" if bits_of(new) > bits_of(old) else "fptrunc"
    if old in FLOATS:
        return "fptoui" if new in UNSIGNED else "fptosi"
    if new in FLOATS:
        return "uitofp" if old in UNSIGNED else "sitofp"
    if bits_of(new) == bits_of(old):
        return None
    if bits_of(new) < bits_of(old):
        return "trunc"
    return "zext" if old in UNSIGNED else "sext"


def literal(kind, number):
    """Returns a number in all lanes as LLVM text; floats are the bits of their double."""
    if kind == "bfloat16":
        number = int(np.dtype(kind).type(number).view(np.uint16))
    elif kind in FLOATS:
        value = float(np.dtype(kind).type(number))
        number = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return f"splat ({TYPES[kind]} {number})"
