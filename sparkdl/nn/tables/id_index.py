"""Positions of rows by key: a hash table with open addressing that works on batches."""

import numpy as np

from sparkdl.engine.native import hash_tables
from sparkdl.errors import UnsupportedError
from sparkdl.nn.tables.row_keys import free_entries

FIRST, FULL, AFTER_GROWTH = 1024, 0.65, 0.52  # first entries; load factors around growth
CHUNK = 1 << 20  # keys inserted at once when the table grows
LARGEST = 2**31 - 1  # rows, as entries are int32


class IdIndex:
    """Finds the position of each added key: 0, 1, 2, ... in the order of insertion.

    It needs 4 bytes per entry, 6 to 8 per key; the keys themselves are arrays of the caller. A
    compiled loop searches if there is a compiler, else numpy, with the same results.

    Parameters
    ----------
    tables : int
        The number of tables that keys refer to.

    References
    ----------
    Linear probing: Knuth, The art of computer programming 3 (1998), section 6.4. The hash is the
    finalizer of Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014).
    """

    def __init__(self, tables):
        self._by_ids, self._entries, self._count = tables == 1, free_entries(FIRST), 0

    @property
    def nbytes(self):
        """Bytes of the entries."""
        return self._entries.nbytes

    def find(self, keys, known):
        """Returns the positions (n,) int64 of RowKeys, -1 for keys that were not added.

        Parameters
        ----------
        keys : RowKeys
            With ids of at least 0.
        known : RowKeys
            The added keys by position.
        """
        places = np.empty(len(keys.ids), np.int64)
        try:
            hash_tables.find(keys, known, self._entries, places, self._by_ids)
        except UnsupportedError:
            self._search(keys, known, places)
        return places

    def add(self, known, count):
        """Adds known[old count:count], which must be distinct and new."""
        if count > FULL * len(self._entries):
            self._entries, self._count = free_entries(int(np.ceil(count / AFTER_GROWTH))), 0
        for start in range(self._count, count, CHUNK):
            self._enter(known, start, min(start + CHUNK, count))
        self._count = count

    def _search(self, keys, known, places):
        """Implements `find` with numpy."""
        places[:] = -1
        entries, waiting = self._homes(keys), np.arange(len(keys.ids))
        while len(waiting) and self._count:
            there = self._entries[entries[waiting]]
            used = there >= 0
            same = used & (known.ids[there] == keys.ids[waiting])
            same &= known.tables[there] == keys.tables[waiting]
            places[waiting[same]] = there[same]
            waiting = waiting[used & ~same]
            self._advance(entries, waiting)

    def _enter(self, known, start, stop):
        try:
            hash_tables.enter(known, self._entries, start, stop)
            return
        except UnsupportedError:
            part = slice(start, stop)
            entries, waiting = self._homes(known.take(part)), np.arange(stop - start)
        while len(waiting):
            at, places = entries[waiting], (start + waiting).astype(np.int32)
            free = self._entries[at] < 0
            self._entries[at[free]] = places[free]  # of several keys for one entry, one wins
            waiting = waiting[self._entries[at] != places]
            self._advance(entries, waiting)

    def _advance(self, entries, which):
        entries[which] += 1
        entries[which] %= len(self._entries)

    def _homes(self, keys):
        """Returns the entry where probing begins for each key."""
        high = hash_keys(keys) >> np.uint64(32)
        return (high * np.uint64(len(self._entries)) >> np.uint64(32)).astype(np.int64)


def hash_keys(keys):
    """Returns 64 well-mixed bits for each key, as uint64."""
    steps = (keys.tables.astype(np.uint64) + np.uint64(1)) * np.uint64(hash_tables.GOLDEN)
    x = keys.ids.astype(np.uint64) + steps
    for bits, factor in hash_tables.MIXERS:
        x = (x ^ (x >> np.uint64(bits))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
