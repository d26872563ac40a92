"""Tag of a frame: 64 bits that identify its sub-group and call.

From the top: 12 bits for the sub-group, 1 bit for messages between two ranks, 36 bits for the
number of the call (or the user's tag of a message), 15 bits of a hash that tells different calls
apart. Frames of one stream (all but the lowest 15 bits) between two ranks arrive in the order in
which they are expected, so they need no sequence numbers.
"""

from functools import lru_cache
from zlib import crc32

SIGNATURE, NUMBER, CONTEXT = 15, 36, 12
LARGEST_NUMBER = (1 << NUMBER) - 1
LARGEST_CONTEXT = (1 << CONTEXT) - 1


def tag_of(context, direct, number, text):
    """Returns the tag of a call described by `text`, which must be the same on all its ranks."""
    stream = (context << 1 | direct) << NUMBER | number
    return stream << SIGNATURE | signature(text)


@lru_cache(maxsize=1000)
def signature(text):
    return crc32(text.encode()) & ((1 << SIGNATURE) - 1)


def stream_of(tag):
    """Returns the stream of a tag: all of it but the hash of the call's description."""
    return tag >> SIGNATURE


def group_of(tag):
    """Returns the number of a tag's sub-group."""
    return tag >> SIGNATURE + NUMBER + 1
