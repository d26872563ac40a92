"""Partition of a key's numbers among the servers."""

from typing import NamedTuple
from zlib import crc32


class KeySlice(NamedTuple):
    """Numbers start to stop of a key are with this server (its index)."""

    server: int
    start: int
    stop: int


def spread(key, length, servers, big, at=None):
    """Returns the KeySlices of a key.

    All are with server `at`; else with one found by the key's name, or of a big key a part with
    each.

    All processes find the same ones, and no server has more than one of a key.
    """
    if at is not None or length <= big or servers == 1:
        index = crc32(key.encode()) if at is None else at
        return [KeySlice(index % servers, 0, length)]
    ends = [length * i // servers for i in range(servers + 1)]
    return [KeySlice(i, ends[i], ends[i + 1]) for i in range(servers)]
