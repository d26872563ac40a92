"""Header of every frame on a connection: kind, tag and length."""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from sparkdl.errors import DataError

MAGIC = b"SDL1"
HEADER = Struct("<4sBxxxQQ")


class Kind(IntEnum):
    """The kind of contents of a frame."""

    DATA = 1  # raw numbers
    MESSAGE = 2  # a JSON object, which announces the arrays that follow
    HEARTBEAT = 3  # no body: the sender is alive
    ABORT = 4  # a JSON object: which rank failed, and what was awaited
    GOODBYE = 5  # no body: the sender has finished and will close


class FrameHeader(NamedTuple):
    """A frame's kind, its tag (the receiver's buffer), and the length of its body in bytes."""

    kind: Kind
    tag: int
    length: int


def pack_header(kind, tag=0, length=0):
    """Returns a header of 24 bytes."""
    return HEADER.pack(MAGIC, kind, tag, length)


def unpack_header(data, limit):
    """Parses a header of 24 bytes.

    Raises DataError if it is invalid or announces more than `limit` bytes.
    """
    magic, kind, tag, length = HEADER.unpack(data)
    if magic != MAGIC or kind not in Kind.__members__.values():
        raise DataError(f"a frame must begin with {MAGIC!r} and a known kind, got {bytes(data)!r}")
    if length > limit:
        raise DataError(f"a frame must have at most {limit} bytes, got {length}")
    return FrameHeader(Kind(kind), tag, length)
