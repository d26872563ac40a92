"""Which rows have been updated often enough to be kept."""

import numpy as np

from sparkdl.nn.tables.row_store import RowStore

COUNT, LAST = "count", "last"


class RowFilter:
    """Counts the updates of ids that have no row yet; with the `minimum`-th they may have one.

    An id that was counted takes 24 bytes, 20 where ids do not expire, whatever the dimension. Its
    count expires before the row that it gets, as it is not raised any more.

    Parameters
    ----------
    names : tuple of str
        Of the tables; keys have their numbers, from 0.
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
        """Counts the update `t` of RowKeys (n,) without rows; returns which (n,) get theirs now."""
        places = self.store.find(keys)
        new = np.flatnonzero(places < 0)
        if len(new):
            places[new] = self.store.add(keys.take(new), {COUNT: 0, LAST: 0})
        counts = self.store.take(COUNT, places) + np.int32(1)
        self.store.put(COUNT, places, counts)
        if self._expires:
            self.store.put(LAST, places, t)
        return counts >= self.minimum

    def forget(self, oldest):
        """Forgets counts that no update from `oldest` on has raised."""
        keep_since(self.store, oldest)


def name_of_counts(table):
    """Returns the name that the counts of a table have in its state."""
    return f"{table}/seen"


def keep_since(store, oldest):
    """Forgets the rows of a RowStore whose LAST is below `oldest`."""
    places = np.flatnonzero(store.whole(LAST) >= oldest)
    if len(places) < len(store):
        store.keep(places)
