"""Which server holds which numbers of a key."""

from typing import NamedTuple
from zlib import crc32


class Stretch(NamedTuple):
    """Numbers start to stop of a key are with this server (its index)."""

    server: int
    start: int
    stop: int


def spread(key, length, servers, big):
    """[Stretch] of a key: all with one server, found by the key's name; a big one with each.

    All processes find the same ones, and no server has more than one of a key.
    """
    if length <= big or servers == 1:
        return [Stretch(crc32(key.encode()) % servers, 0, length)]
    ends = [length * i // servers for i in range(servers + 1)]
    return [Stretch(i, ends[i], ends[i + 1]) for i in range(servers)]
