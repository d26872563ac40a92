"""Parser of arrays written by ND4J: two buffers, for shape and numbers.

A buffer has its allocation mode (text), its length, its type (text) and its numbers, all
big-endian, with texts as by Java's writeUTF. The length has 64 bits since 1.0.0-beta, 32 before.
The shape has the number of axes, their lengths, their strides, and three more numbers, the last of
which is the order ('c', 'f').
"""

import struct
from math import prod

import numpy as np

from sparkdl.errors import DataError

LONG_LENGTHS = ("LONG_SHAPE", "MIXED_DATA_TYPES")
SHORT_LENGTHS = ("HEAP", "JAVACPP", "DIRECT")
TYPES = {
    "DOUBLE": ">f8",
    "FLOAT": ">f4",
    "INT": ">i4",
    "LONG": ">i8",
}
AXES = 32
ORDERS = {99: "C", 102: "F"}
ORDERED = "an array must be in the order 'c' or 'f'"


class JavaStream:
    """Reader of bytes written by Java's DataOutputStream.

    Parameters
    ----------
    content : bytes
    where : str
        For errors.
    """

    def __init__(self, content, where):
        self.content, self.where, self.place = content, where, 0

    def take(self, count):
        """Returns the next `count` bytes."""
        end = self.place + count
        if count < 0 or end > len(self.content):
            raise DataError(
                f"{self.where}: must have {count} bytes from {self.place} on, "
                f"got {len(self.content) - self.place}"
            )
        self.place, found = end, self.content[self.place : end]
        return found

    def number(self, kind):
        """Reads a number with a struct type code: "i", "q", "d", "?"."""
        return struct.unpack(f">{kind}", self.take(struct.calcsize(f">{kind}")))[0]

    def text(self):
        """Reads a text."""
        return self.take(self.number("H")).decode("utf-8", "replace")

    def buffer(self):
        """Reads the numbers of a buffer."""
        allocation = self.text()
        if allocation not in LONG_LENGTHS + SHORT_LENGTHS:
            raise DataError(f"{self.where}: must be an array of ND4J, got {allocation[:40]!r}")
        count, kind = self.number("q" if allocation in LONG_LENGTHS else "i"), self.text()
        if kind not in TYPES:
            raise DataError(
                f"{self.where}: numbers must be of a type of {tuple(TYPES)}, got {kind[:40]!r}"
            )
        dtype = np.dtype(TYPES[kind])
        return np.frombuffer(self.take(count * dtype.itemsize), dtype)

    def array(self):
        """Reads an array."""
        shape, order = self.shape()
        values = self.buffer()
        if values.size != prod(shape):
            raise DataError(f"{self.where}: {values.size} numbers must be an array of {shape}")
        return values.reshape(shape, order=order)

    def shape(self):
        """Reads (shape, order) of an array."""
        values = self.buffer()
        if values.dtype.kind != "i":
            raise DataError(f"{self.where}: the shape of an array must be integers")
        given = [int(n) for n in values]
        rank = given[0] if given else -1
        if not 0 <= rank <= AXES or len(given) != 2 * rank + 4:
            raise DataError(f"{self.where}: must be the shape of an array, got {given[:8]}")
        shape, order = tuple(given[1 : 1 + rank]), given[-1]
        if any(n < 0 for n in shape) or order not in ORDERS:
            raise DataError(f"{self.where}: {ORDERED}, got {order} of {shape}")
        return shape, ORDERS[order]


def read_vector(content, where):
    """Reads the only array in `content` as a float32 vector."""
    stream = JavaStream(content, where)
    array = stream.array()
    if max(array.shape, default=1) != array.size:
        raise DataError(f"{where}: must be a vector, got an array of {array.shape}")
    with np.errstate(over="ignore"):
        return array.reshape(-1).astype(np.float32)
