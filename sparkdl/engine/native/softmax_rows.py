"""Rows of logits in vectors: one long row at a time, or LANES short rows side by side.

A vector of a long row holds LANES of its classes. Of rows of a few classes, such a vector would be
almost empty: there it holds one class of LANES rows.
"""

from dataclasses import dataclass

from sparkdl.engine.native import formulas
from sparkdl.engine.native.control import accumulate
from sparkdl.engine.native.llvm_code import LANES, TYPES, Code, IrVector, literal
from sparkdl.engine.native.memory import (
    below,
    find_places,
    gather_at,
    load,
    number_lanes,
    scatter_at,
    store,
)
from sparkdl.engine.native.sums import zeros

LEAST = -87.0  # e^-87 is just above the smallest normal number
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

    def load_logit(self, start, label):
        """Loads the logit of a label of `load_labels`; anything if that is -1."""
        number = self.code.define(f"extractelement {label.typed}, i32 0")
        number = self.code.define(f"sext i32 {number} to i64")
        place = self.code.define(
            self.code.call("i64", "llvm.smax.i64", ("i64", number), ("i64", 0))
        )
        at = self.code.pointer(start, "float", place)
        return self.code.splat("float32", self.code.define(f"load float, ptr {at}"))

    def is_label(self, label, i):
        """Returns the mask of the label among the classes from i on."""
        first = self.code.splat("int32", self.code.define(f"trunc i64 {i} to i32"))
        return (label - first).compare("eq", number_lanes(self.code))

    def largest(self, vector):
        """Returns the largest number of the row, in all lanes."""
        return vector.largest()

    def sum(self, vector):
        """Returns the sum of the row, in all lanes."""
        return self.code.splat(vector.kind, vector.sum())


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

    def load_logit(self, start, label):
        at = f"getelementptr float, <{LANES} x ptr> {start}, {label.typed}"
        return gather_at(self.code, "float32", self.code.define(at), (label >= 0) & self.inside)

    def is_label(self, label, i):
        number = self.code.define(f"trunc i64 {i} to i32")
        return label.compare("eq", self.code.splat("int32", number))

    def largest(self, vector):
        return vector

    sum = largest


def largest_of(rows, start):
    """Returns the largest logit of each row."""
    code = rows.code

    def larger(i, largest):
        logits = rows.load(start, i)
        return [(logits > largest).select(logits, largest)]

    lowest = IrVector(code, "float32", LOWEST)
    [largest] = accumulate(code, "0", rows.classes, rows.step, [lowest], larger)
    return rows.largest(largest)


def total_of(rows, start, largest):
    """Returns the sum of exp(logits - largest) of each row, added in float64."""

    def add(i, total):
        return [total + exp_of(rows, start, largest, i).cast("float64")]

    [total] = accumulate(rows.code, "0", rows.classes, rows.step, zeros(rows.code, 1), add)
    return rows.sum(total).cast("float32")


def exp_of(rows, start, largest, i):
    """Returns exp(logits - largest) of a vector; 0 where it is less than e^LEAST.

    Processors take some hundred cycles for numbers below the smallest normal one.
    """
    x = rows.load(start, i) - largest
    tiny = x < LEAST
    return tiny.select(x.of(0.0), formulas.exp(tiny.select(x.of(0.0), x)))


def load_labels(rows, kind, labels):
    """Loads the labels of rows as int32; -1 stands for those that are no class."""
    label = rows.load_value(kind, labels).cast("int64")
    known = label.cast("uint64") < rows.code.splat("uint64", rows.classes)
    return known.select(label.cast("int32"), label.cast("int32").of(-1))
