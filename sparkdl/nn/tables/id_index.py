"""Places of ids: a hash table with open addressing, a batch at a time."""

import numpy as np

FIRST, FULL, AFTER_GROWTH = 1024, 0.65, 0.52  # entries at first; shares of them in use
CHUNK = 1 << 20  # ids that are entered at once when the table grows
LARGEST = 2**31 - 1  # rows, as entries are int32


class IdIndex:
    """Finds the place of each id that was added: 0, 1, 2, ... in the order of adding.

    It keeps 4 bytes for each entry, 6 to 8 for an id; the ids themselves are the caller's array.

    References
    ----------
    Linear probing: Knuth, The art of computer programming 3 (1998), section 6.4. The hash is the
    finalizer of Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014).
    """

    def __init__(self):
        self._entries, self._count = np.full(FIRST, -1, np.int32), 0

    @property
    def nbytes(self):
        """Bytes of the entries."""
        return self._entries.nbytes

    def find(self, ids, known):
        """Returns the places (n,) int64 of ids, -1 where one was not added.

        Parameters
        ----------
        ids : (n,) int64
        known : int64 array
            The ids by place.
        """
        places, entries = np.full(len(ids), -1, np.int64), self._homes(ids)
        if not self._count:
            return places
        waiting = np.arange(len(ids))
        while len(waiting):
            there = self._entries[entries[waiting]]
            used = there >= 0
            same = used & (known[there] == ids[waiting])
            places[waiting[same]] = there[same]
            waiting = waiting[used & ~same]
            self._advance(entries, waiting)
        return places

    def add(self, known, count):
        """Adds known[old count:count], ids that differ and were not added before."""
        if count > FULL * len(self._entries):
            size = int(np.ceil(count / AFTER_GROWTH))
            self._entries, self._count = np.full(size, -1, np.int32), 0
        for start in range(self._count, count, CHUNK):
            self._enter(known, start, min(start + CHUNK, count))
        self._count = count

    def _enter(self, known, start, stop):
        entries, waiting = self._homes(known[start:stop]), np.arange(stop - start)
        while len(waiting):
            at, places = entries[waiting], (start + waiting).astype(np.int32)
            free = self._entries[at] < 0
            self._entries[at[free]] = places[free]  # of several for one entry, one has it then
            waiting = waiting[self._entries[at] != places]
            self._advance(entries, waiting)

    def _advance(self, entries, which):
        entries[which] += 1
        entries[which] %= len(self._entries)

    def _homes(self, ids):
        """Returns the entry at which to begin for each id."""
        high = hash_ids(ids) >> np.uint64(32)
        return (high * np.uint64(len(self._entries)) >> np.uint64(32)).astype(np.int64)


def hash_ids(ids):
    """Returns 64 well-mixed bits for each id, as uint64."""
    x = ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
