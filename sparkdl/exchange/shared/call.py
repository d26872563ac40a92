"""Number that identifies a collective, by which members detect mismatched calls."""

from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from sparkdl.errors import UnsupportedError

OPS = ("sum", "max", "min")
KINDS = ("barrier", "all_gather")
KINDS += tuple(f"{way} {op}" for way in ("all_reduce", "reduce_scatter") for op in OPS)
DTYPES = [np.dtype(name) for name in ("float32", "float64", "int64", "uint8")]
PLACES = 16, 16, 2**12, 2**42  # number of values of each field of a SharedCall


class SharedCall(NamedTuple):
    """A collective and its arguments, as far as members must agree on them.

    Parameters
    ----------
    kind : int
        Index in KINDS.
    dtype : int
        Index in DTYPES.
    parts : int
        Checksum of the owners' bounds, and of the type of the numbers if the vector is their bytes.
    count : int
        Numbers in the vector.
    """

    kind: int
    dtype: int
    parts: int
    count: int

    @classmethod
    def about(cls, kind, x, bounds=(), bytes_of=""):
        """Returns the SharedCall for a `kind` of collective on x with the owners' `bounds`.

        `bytes_of` names the type of the numbers of which x is the bytes.
        """
        return _about(kind, x.dtype, x.size, tuple(bounds), bytes_of)

    def pack(self):
        """Packs all fields into one number below 2 ** 62."""
        number = 0
        for value, places in zip(reversed(self), reversed(PLACES), strict=True):
            number = number * places + value
        return number

    @classmethod
    def unpack(cls, number):
        fields = []
        for places in PLACES:
            number, value = divmod(number, places)
            fields.append(value)
        return cls(*fields)

    def __str__(self):
        parts = f", parts and type {self.parts:x}" if self.parts else ""
        return f"{KINDS[self.kind]} of {self.count} {DTYPES[self.dtype]}{parts}"


@lru_cache(maxsize=1000)
def _about(kind, dtype, count, bounds, bytes_of):
    if dtype not in DTYPES:
        raise UnsupportedError(f"vectors must be of {', '.join(map(str, DTYPES))}, got {dtype}")
    parts = crc32(f"{bounds}{bytes_of}".encode()) % PLACES[2] if bounds else 0
    return SharedCall(KINDS.index(kind), DTYPES.index(dtype), parts, count)
