"""A filter that keeps rows only after several updates."""

import numpy as np

from sparkdl.nn.tables.row_store import RowStore

COUNT, LAST = "count", "last"


class RowFilter:
    """Counts the updates of ids without a row; at the `minimum`-th update an id gets one.

    A counted id takes 24 bytes, or 20 if ids do not expire, for any dimension. Once it has a row,
    its count is no longer raised, so it expires before the row.

    Parameters
    ----------
    names : tuple of str
        Names of the tables; keys refer to them by index.
    minimum : int
        Updates, at least 2.
    expires : bool
        Whether `forget` is called.
    """

    def __init__(self, names, minimum, expires):
        self.minimum, self._expires = minimum, expires
        self.names = tuple(name_of_counts(name) for name in names)
        self.store = RowStore(self.names, 0, (), (COUNT, LAST) if expires else (COUNT,))

    def admit(self, keys, t):
        """Counts update `t` for RowKeys (n,) without rows; returns which (n,) now get rows."""
        places = self.store.find(keys)
        new = np.flatnonzero(places < 0)
        if len(new):
            places[new] = self.store.add(keys.take(new), {COUNT: 0, LAST: 0})
        counts = self.store.take(COUNT, places) + np.int32(1)
        self.store.put(COUNT, places, counts)
        if self._expires:
            self.store.put(LAST, places, short_of(t))
        return counts >= self.minimum

    def forget(self, t, updates):
        """Forgets counts that none of the last so many updates, up to `t`, has raised."""
        keep_recent(self.store, t, updates)


def name_of_counts(table):
    """Returns the name under which a table's state has its counts."""
    return f"{table}/seen"


def keep_recent(store, t, updates):
    """Forgets the rows of a RowStore that none of the last so many updates, up to `t`, touched."""
    ages = short_of(t).view(np.uint32) - store.whole(LAST).view(np.uint32)
    places = np.flatnonzero(ages < updates)
    if len(places) < len(store):
        store.keep(places)


def short_of(t):
    """Returns the number of an update modulo 2^32, as int32: enough, as rows expire before that."""
    return np.array(t % 2**32, np.uint32).view(np.int32)
