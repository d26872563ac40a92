"""Rows of logits in vectors: one long row at a time, or LANES short rows side by side.

A vector of a long row holds LANES of its classes. Of rows of a few classes, such a vector would be
almost empty: there it holds one class of LANES rows.
"""

from dataclasses import dataclass

from sparkdl.engine.native import formulas
from sparkdl.engine.native.control import accumulate
from sparkdl.engine.native.llvm_code import LANES, TYPES, Code, IrVector, literal
from sparkdl.engine.native.memory import below, find_places, gather_at, load, scatter_at, store
from sparkdl.engine.native.sums import zeros

SHORT = 2 * LANES  # classes of the longest short rows: longer ones are faster one by one
LOWEST = literal("float32", float("-inf"))


@dataclass
class LongRow:
    """A row; a vector holds LANES of its classes.

    Parameters
    ----------
    row, end : the row's index, and the number of rows
    """

    code: Code
    row: str
    end: str
    classes: str
    rows = 1  # in a vector
    step = LANES  # classes in a vector

    def start(self, base, apart):
        """Returns where the row starts, for rows `apart` bytes apart."""
        return self.code.pointer(base, "i8", self.code.define(f"mul i64 {self.row}, {apart}"))

    def mask(self, i):
        return below(self.code, self.code.define(f"sub i64 {self.classes}, {i}"))

    def load(self, start, i):
        """Loads the classes from i on; lanes behind the last class are -inf."""
        return load(self.code, "float32", start, i, self.mask(i), LOWEST)

    def store(self, vector, start, i):
        store(self.code, vector, start, i, self.mask(i))

    def load_value(self, kind, base):
        """Loads the row's number of an array with a number for each row."""
        type = TYPES[kind]
        at = self.code.pointer(base, type, self.row)
        return self.code.splat(kind, self.code.define(f"load {type}, ptr {at}"))

    def store_value(self, vector, base):
        first = self.code.define(f"extractelement {vector.typed}, i32 0")
        at = self.code.pointer(base, "float", self.row)
        self.code.add(f"store float {first}, ptr {at}, align 4")

    def find_logits(self, start, label):
        """Returns the addresses of the label's logit, and the mask of labels that are classes."""
        at = f"getelementptr float, ptr {start}, {label.typed}"
        return self.code.define(at), is_class(self, label)

    def reduce(self, vector, name):
        """Reduces a vector to one number per row, by fadd or fmax."""
        return self.code.splat(vector.kind, vector.across(name))


@dataclass
class ShortRows:
    """LANES rows; a vector holds one class of each. Its functions are those of LongRow."""

    code: Code
    row: str
    end: str
    classes: str
    rows, step = LANES, 1

    def __post_init__(self):
        self.inside = below(self.code, self.code.define(f"sub i64 {self.end}, {self.row}"))

    def start(self, base, apart):
        return find_places(self.code, base, self.row, self.code.splat("int64", apart))

    def load(self, start, i):
        return gather_at(self.code, "float32", self.of_class(start, i), self.inside)

    def store(self, vector, start, i):
        scatter_at(self.code, vector, self.of_class(start, i), self.inside)

    def of_class(self, start, i):
        return self.code.define(f"getelementptr float, <{LANES} x ptr> {start}, i64 {i}")

    def load_value(self, kind, base):
        return load(self.code, kind, base, self.row, self.inside)

    def store_value(self, vector, base):
        store(self.code, vector, base, self.row, self.inside)

    def find_logits(self, start, label):
        at = f"getelementptr float, <{LANES} x ptr> {start}, {label.typed}"
        return self.code.define(at), is_class(self, label) & self.inside

    def reduce(self, vector, name):
        return vector


def largest_of(rows, start):
    """Returns the largest logit of each row."""
    code = rows.code

    def larger(i, largest):
        logits = rows.load(start, i)
        return [(logits > largest).select(logits, largest)]

    lowest = IrVector(code, "float32", LOWEST)
    [largest] = accumulate(code, "0", rows.classes, rows.step, [lowest], larger)
    return rows.reduce(largest, "fmax")


def total_of(rows, start, largest):
    """Returns the sum of exp(logits - largest) of each row, added in float64."""

    def add(i, total):
        return [total + formulas.exp(rows.load(start, i) - largest).cast("float64")]

    [total] = accumulate(rows.code, "0", rows.classes, rows.step, zeros(rows.code, 1), add)
    return rows.reduce(total, "fadd reassoc").cast("float32")


def is_class(rows, label):
    return label.cast("uint64") < rows.code.splat("uint64", rows.classes)
