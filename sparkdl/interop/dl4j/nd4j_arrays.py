"""Arrays as ND4J writes them: two buffers, the shape and the numbers.

A buffer is: how it was allocated (text), its length, its type (text), its numbers; all big-endian,
texts as Java's writeUTF has them. Since 1.0.0-beta the length has 64 bits, before 32. The shape is:
axes, their lengths, their strides, three more numbers, of which the last is the order ('c', 'f').
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
    """Bytes that Java's DataOutputStream wrote, read from the front.

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
        """Returns a number of a type of struct: "i", "q", "d", "?"."""
        return struct.unpack(f">{kind}", self.take(struct.calcsize(f">{kind}")))[0]

    def text(self):
        """Returns a text."""
        return self.take(self.number("H")).decode("utf-8", "replace")

    def buffer(self):
        """Returns the numbers of a buffer."""
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
        """Returns the next array."""
        shape, order = self.shape()
        values = self.buffer()
        if values.size != prod(shape):
            raise DataError(f"{self.where}: {values.size} numbers must be an array of {shape}")
        return values.reshape(shape, order=order)

    def shape(self):
        """Returns (shape, order) of the next array."""
        given = [int(n) for n in self.buffer()]
        rank = given[0] if given else -1
        if not 0 <= rank <= AXES or len(given) != 2 * rank + 4:
            raise DataError(f"{self.where}: must be the shape of an array, got {given[:8]}")
        shape, order = tuple(given[1 : 1 + rank]), given[-1]
        if any(n < 0 for n in shape) or order not in ORDERS:
            raise DataError(f"{self.where}: {ORDERED}, got {order} of {shape}")
        return shape, ORDERS[order]


def read_vector(content, where):
    """Returns the numbers of the only array in `content` as a float32 vector."""
    stream = JavaStream(content, where)
    array = stream.array()
    if max(array.shape, default=1) != array.size:
        raise DataError(f"{where}: must be a vector, got an array of {array.shape}")
    with np.errstate(over="ignore"):
        return array.reshape(-1).astype(np.float32)
