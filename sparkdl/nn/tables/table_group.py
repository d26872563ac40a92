"""A group of tables with equal options, stored as one."""

import numpy as np

from sparkdl.errors import ConfigError, DivergedError, ShapeError, UnsupportedError
from sparkdl.nn.tables.first_rows import FirstRows
from sparkdl.nn.tables.row_filter import LAST, RowFilter, keep_recent, short_of
from sparkdl.nn.tables.row_keys import MOST_TABLES
from sparkdl.nn.tables.row_moves import decay_of, moves_of
from sparkdl.nn.tables.row_store import IDS, RowStore

ROWS = "rows"
CHUNK = 1 << 16  # numbers updated at once, so that the optimizer's temporaries stay in the cache


class TableGroup:
    """Float32 rows and optimizer slots for keys of several tables.

    A step calls each kernel once for all tables of a group. A row that was never updated is a
    function of the seed, its table's name and its id, and takes no memory: updates add rows, reads
    do not. The same updates therefore give the same bits in any process.

    Parameters
    ----------
    names : tuple of str
        Names of the tables; keys refer to them by index.
    dimension : int
        Numbers per row.
    optimizer : Optimizer
        Applied only to the rows of an update, so Adam is lazy: moments of other rows stay. It must
        be elementwise (Optimizer.elementwise).
    seed : int
    scale : float
        Initial rows are uniform in [-scale, scale).
    min_updates : int
        A row is stored and trained from its update of this number on; earlier ones do not change
        it.
    expire_after : int, optional
        At every multiple of this number of updates, rows are forgotten that none of the last so
        many updates touched.

    References
    ----------
    Lazy updates: torch.optim.SparseAdam. Many tables as one: FBGEMM's table-batched embeddings.
    """

    def __init__(
        self, names, dimension, optimizer, *, seed=0, scale=0.05, min_updates=1, expire_after=None
    ):
        check_optimizer(optimizer)
        if len(names) > MOST_TABLES:
            raise ConfigError(
                f"GraphConf.bags must have at most {MOST_TABLES} tables of {dimension} numbers a "
                f"row, got {len(names)}; let several share a table"
            )
        self.names, self.dimension, self.optimizer = tuple(names), dimension, optimizer
        self._first = FirstRows(names, dimension, seed, scale)
        self._expire_after, expires = expire_after, expire_after is not None
        arrays = ROWS, *optimizer.slot_names
        self._store = RowStore(self.names, dimension, arrays, (LAST,) if expires else ())
        self._filter = RowFilter(self.names, min_updates, expires) if min_updates > 1 else None

    def clear(self):
        """Forgets all rows."""
        for store in self.stores:
            store.clear()

    def __len__(self):
        """Returns the number of stored rows."""
        return len(self._store)

    @property
    def state_names(self):
        """The names before the last "/" of the keys of `state`."""
        return self.names + (() if self._filter is None else self._filter.names)

    @property
    def stores(self):
        """The RowStores of rows and, if updates are counted, of counts."""
        return [self._store] if self._filter is None else [self._store, self._filter.store]

    @property
    def nbytes(self):
        """Bytes of all stores; see RowStore.nbytes."""
        return sum(store.nbytes for store in self.stores)

    def read(self, keys):
        """Returns the rows (n, dimension) of RowKeys (n,) with ids of at least 0; a new array."""
        places = self._store.find(keys)
        missing = np.flatnonzero(places < 0)
        if not len(missing):
            return self._store.take(ROWS, places)
        rows = np.empty((len(places), self.dimension), np.float32)
        known = np.flatnonzero(places >= 0)
        rows[known] = self._store.take(ROWS, places[known])
        rows[missing] = self._first.of(keys.take(missing))
        return rows

    def update(self, keys, gradients, rate, t):
        """Applies one optimizer step to the rows of keys.

        Parameters
        ----------
        keys : RowKeys (n,) with ids of at least 0
            Distinct.
        gradients : (n, dimension) float32
        rate, t : float, int
            Learning rate, and number of the update, from 1.

        Raises
        ------
        ShapeError
            For gradients of another shape.
        DivergedError
            For a non-finite gradient; no row has changed then.
        """
        self._check(keys, gradients)
        gradients = np.ascontiguousarray(gradients, np.float32)
        if self._filter is not None:
            keys, gradients = self._admit(keys, gradients, t)
        places, numbers = self._places(keys), (np.float32(rate), np.float32(t))
        try:
            arrays = self._store.change((ROWS, *self.optimizer.slot_names), places)
            moves_of(self.optimizer).run(arrays, places, gradients, *numbers)
        except UnsupportedError:
            self._move_in_parts(places, gradients, *numbers)
        if self._expire_after is not None:
            self._store.put(LAST, places, short_of(t))
            self._expire(t)

    def state(self):
        """Returns {"table/array": vector}, copies; see RowStore.state.

        The arrays are "rows", the optimizer's slots, and, if rows expire, "last", the last update
        of each row, modulo 2^32. If updates are counted, the arrays of RowFilter are included.
        """
        return {name: array for store in self.stores for name, array in store.state().items()}

    def begin(self, arrays):
        """Returns the `state` of a group that starts with the rows of {"table/array": vector}.

        Optimizer slots and counts start anew; ids and rows are not copied.
        """
        state, start = {}, self.optimizer.slot_start
        for table in (name for name in self.names if f"{name}/{ROWS}" in arrays):
            ids, rows = arrays[f"{table}/{IDS}"], arrays[f"{table}/{ROWS}"]
            own = {IDS: ids, ROWS: rows}
            for name in self.optimizer.slot_names:
                own[name] = np.full(rows.shape, start.get(name, 0), np.float32)
            if self._expire_after is not None:
                own[LAST] = np.zeros(len(ids), np.int32)
            state |= {f"{table}/{name}": array for name, array in own.items()}
        return state

    def load(self, states):
        """Loads a `state` or a list of states, where later rows replace earlier ones.

        See RowStore.load.
        """
        states = states if isinstance(states, list) else [states]
        for store in self.stores:
            store.load_all(states)

    def _admit(self, keys, gradients, t):
        """Returns the keys, with their gradients, that have or now get rows."""
        kept = self._store.find(keys) >= 0
        missing = np.flatnonzero(~kept)
        if not len(missing):
            return keys, gradients
        kept[missing] = self._filter.admit(keys.take(missing), t)
        return keys.take(kept), gradients[kept]

    def _expire(self, t):
        if t % self._expire_after == 0:
            keep_recent(self._store, t, self._expire_after)
            if self._filter is not None:
                self._filter.forget(t, self._expire_after)

    def _move_in_parts(self, places, gradients, rate, t):
        """Implements RowMoves with numpy."""
        size = max(1, CHUNK // self.dimension)
        for start in range(0, len(places), size):
            part = slice(start, start + size)
            self._move(places[part], gradients[part], rate, t)

    def _move(self, places, gradients, rate, t):
        store, optimizer = self._store, self.optimizer
        rows, slots = store.take(ROWS, places), {}
        for name in optimizer.slot_names:
            slots[name] = store.take(name, places)
        step, new = optimizer.move(rows, gradients, slots, rate, t, None, decay_of(optimizer))
        for name, values in {ROWS: rows + step, **new}.items():
            store.put(name, places, values)

    def _places(self, keys):
        """Returns the positions of keys, adding rows for unknown ones."""
        places = self._store.find(keys)
        missing = np.flatnonzero(places < 0)
        if len(missing):
            new, start = keys.take(missing), self.optimizer.slot_start
            slots = {name: start.get(name, 0) for name in self.optimizer.slot_names}
            values = {ROWS: self._first.of(new), LAST: 0, **slots}
            places[missing] = self._store.add(new, values)
        return places

    def _check(self, keys, gradients):
        need = (len(keys.ids), self.dimension)
        if gradients.shape != need:
            raise ShapeError(f"tables {self.names} need gradients {need}, got {gradients.shape}")
        if not np.isfinite(gradients).all():
            row = np.argwhere(~np.isfinite(gradients))[0][0]
            raise DivergedError(
                f"table {self.names[keys.tables[row]]!r}: the gradient of id {keys.ids[row]} is "
                "not finite; lower the rate"
            )


def check_optimizer(optimizer):
    """Raises ConfigError for an optimizer that is not elementwise, or averages weights."""
    if not optimizer.elementwise:
        raise ConfigError(
            f"EmbeddingBag.optimizer must compute number by number, got {optimizer.type_name}; "
            "Sgd, AdaGrad or Adam do"
        )
    if optimizer.ema_decay is not None:
        raise ConfigError(
            "EmbeddingBag.optimizer must keep no average of the rows, most of which an update does "
            f"not touch, got {optimizer.type_name} with ema_decay={optimizer.ema_decay}; give the "
            "bag an optimizer of its own, without ema_decay"
        )
