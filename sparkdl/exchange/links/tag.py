"""Tag of a frame: 64 bits that name the sub-group and the call that it belongs to.

From the top: 12 bits for the sub-group, 1 for whether it is between two ranks only, 36 for the
number of the call (or the tag that the user gave), 15 that tell calls of different kind apart.
Frames of one stream (all but the lowest 15 bits) between two ranks come in the order in which
they are awaited, so they need no numbers of their own.
"""

from functools import lru_cache
from zlib import crc32

SIGNATURE, NUMBER, CONTEXT = 15, 36, 12
LARGEST_NUMBER = (1 << NUMBER) - 1
LARGEST_CONTEXT = (1 << CONTEXT) - 1


def tag_of(context, direct, number, text):
    """Returns the tag of a call that `text` describes: all who take part must describe it alike."""
    stream = (context << 1 | direct) << NUMBER | number
    return stream << SIGNATURE | signature(text)


@lru_cache(maxsize=1000)
def signature(text):
    return crc32(text.encode()) & ((1 << SIGNATURE) - 1)


def stream_of(tag):
    """Returns the part of a tag that it shares with other calls that claim to be the same one."""
    return tag >> SIGNATURE


def group_of(tag):
    """Returns the number of the sub-group that a tag belongs to."""
    return tag >> SIGNATURE + NUMBER + 1
