"""The header of every frame on a connection: its kind, its tag and its length."""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from sparkdl.errors import DataError

MAGIC = b"SDL1"
HEADER = Struct("<4sBxxxQQ")


class Kind(IntEnum):
    """The kind of contents of a frame."""

    DATA = 1  # numbers, raw
    MESSAGE = 2  # a JSON object, which says what arrays follow
    HEARTBEAT = 3  # nothing: the sender is alive
    ABORT = 4  # a JSON object: who failed, and what was awaited
    GOODBYE = 5  # nothing: the sender has finished and will close


class FrameHeader(NamedTuple):
    """A frame's kind, its tag (which buffer of the receiver it is for), and its bytes."""

    kind: Kind
    tag: int
    length: int


def pack_header(kind, tag=0, length=0):
    """Returns the bytes (24,) of a header."""
    return HEADER.pack(MAGIC, kind, tag, length)


def unpack_header(data, limit):
    """Returns the FrameHeader in 24 bytes.

    Raises DataError for others, and for more than `limit` bytes.
    """
    magic, kind, tag, length = HEADER.unpack(data)
    if magic != MAGIC or kind not in Kind.__members__.values():
        raise DataError(f"a frame must begin with {MAGIC!r} and a known kind, got {bytes(data)!r}")
    if length > limit:
        raise DataError(f"a frame must have at most {limit} bytes, got {length}")
    return FrameHeader(Kind(kind), tag, length)
