"""Partition of a key's numbers among the servers."""

from typing import NamedTuple
from zlib import crc32

from sparkdl.exchange.collectives.pieces import equal_bounds


class KeySlice(NamedTuple):
    """Numbers start to stop of a key, held by the server with this index."""

    server: int
    start: int
    stop: int


def spread(key, length, servers, big, at=None):
    """Returns the KeySlices of a key.

    With `at`, that server holds all of it. Otherwise a hash of the key chooses a server, or all
    servers hold equal parts of a key with more than `big` numbers. The result is the same on all
    processes, and each server has at most one slice of a key.
    """
    if at is not None or length <= big or servers == 1:
        index = crc32(key.encode()) if at is None else at
        return [KeySlice(index % servers, 0, length)]
    return [KeySlice(i, *ends) for i, ends in enumerate(equal_bounds(length, servers))]
