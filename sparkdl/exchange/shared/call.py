"""What a member of a machine has entered, in one number: members compare before they add up."""

from typing import NamedTuple
from zlib import crc32

from sparkdl.errors import UnsupportedError

OPS = ("sum", "max", "min")
KINDS = ("barrier", "all_gather")
KINDS += tuple(f"{way} ({op})" for way in ("all_reduce", "reduce_scatter") for op in OPS)
DTYPES = ("float32", "float64", "int64", "uint8")
PLACES = 16, 16, 2**12, 2**42  # how many values each field of a Call may have


class Call(NamedTuple):
    """A collective and what it is asked about.

    Parameters
    ----------
    kind : int
        Place in KINDS.
    dtype : int
        Place in DTYPES.
    parts : int
        Checksum of who owns which part.
    count : int
        Numbers in the vector.
    """

    kind: int
    dtype: int
    parts: int
    count: int

    @classmethod
    def about(cls, kind, x, bounds=()):
        """The Call of a `kind` on the vector x, whose owners have `bounds`."""
        if x.dtype.name not in DTYPES:
            raise UnsupportedError(f"vectors must be of {', '.join(DTYPES)}, got {x.dtype.name}")
        parts = crc32(repr(list(bounds)).encode()) % PLACES[2] if bounds else 0
        return cls(KINDS.index(kind), DTYPES.index(x.dtype.name), parts, x.size)

    def packed(self):
        """All fields in one number, below 2 ** 62."""
        number = 0
        for value, places in zip(reversed(self), reversed(PLACES), strict=True):
            number = number * places + value
        return number

    @classmethod
    def unpacked(cls, number):
        fields = []
        for places in PLACES:
            number, value = divmod(number, places)
            fields.append(value)
        return cls(*fields)

    def __str__(self):
        return f"{KINDS[self.kind]} of {self.count} {DTYPES[self.dtype]}, parts {self.parts:x}"
