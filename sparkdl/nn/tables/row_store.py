"""Rows in memory: their arrays, and the index that finds them by key."""

import numpy as np

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.tables.huge_pages import allocate, grow
from sparkdl.nn.tables.id_index import LARGEST, IdIndex
from sparkdl.nn.tables.row_keys import RowKeys

IDS, TABLES, CHANGED = "ids", "tables", "changed"
ROOM = 64  # full arrays grow by 1 / ROOM of their length
CHUNK = 1 << 18  # rows copied at once


class RowStore:
    """Rows (dimension,) float32 of several arrays, in insertion order, for keys of several tables.

    Parameters
    ----------
    names : tuple of str
        Names of the tables; keys refer to them by index.
    dimension : int
    arrays : tuple of str
        Names of the arrays with (dimension,) numbers per row.
    counts : tuple of str
        Names of further arrays with one int32 per row.
    """

    def __init__(self, names, dimension, arrays, counts=()):
        self.names, self.dimension = names, dimension
        self._parts = (*arrays, *counts)
        self._kinds = dict.fromkeys(arrays, (np.float32, (dimension,)))
        self._kinds |= dict.fromkeys(counts, (np.int32, ()))
        self.clear()

    def clear(self):
        """Forgets all rows."""
        self._index, self._count, self._found = IdIndex(len(self.names)), 0, None
        self._has_forgotten = False
        self._arrays = {
            TABLES: np.zeros(0, np.int16),
            IDS: np.zeros(0, np.int64),
            **self._no_rows(),
        }

    def __len__(self):
        return self._count

    @property
    def nbytes(self):
        """Bytes of all arrays and of the index, including room for growth."""
        return self._index.nbytes + sum(array.nbytes for array in self._arrays.values())

    def find(self, keys):
        """Returns the positions (n,) of RowKeys, -1 for unknown ones; caches the last result."""
        if self._found is None or self._found[0] is not keys:
            self._found = keys, self._index.find(keys, self._known)
        return self._found[1]

    def add(self, keys, values):
        """Adds rows for new keys; returns their positions.

        Parameters
        ----------
        keys : RowKeys (n,)
            Distinct.
        values : {name of an array: (n, dimension), or (n,) for a count; or one number}

        Raises
        ------
        ConfigError
            For more rows than the index can number; the store stays as it was.
        """
        start, count = self._count, self._count + len(keys.ids)
        self._make_room(count)
        self._count, self._found = count, None
        new = slice(start, self._count)
        self._arrays[TABLES][new], self._arrays[IDS][new] = keys
        for name in self._parts:
            self._arrays[name][new] = values[name]
        if CHANGED in self._arrays:
            self._arrays[CHANGED][new] = True
        self._index.add(self._known, self._count)
        return np.arange(start, self._count)

    def take(self, name, places):
        """Returns rows (n, dimension), or counts (n,), of one array; a new array."""
        return self._arrays[name].take(places, axis=0)

    def put(self, name, places, values):
        """Overwrites rows or counts of one array."""
        self.change((name,), places)[name][places] = values

    def change(self, names, places):
        """Returns {name: array by position}, to be changed at these positions only."""
        if CHANGED in self._arrays:
            self._arrays[CHANGED][places] = True
        return {name: self._arrays[name] for name in names}

    def whole(self, name):
        """Returns one array of all rows by position, read-only by convention."""
        return self._arrays[name][: self._count]

    def keep(self, places):
        """Forgets all rows but those at positions (n,), which become 0, 1, ..."""
        kept = {}
        for name, array in self._arrays.items():
            kept[name] = allocate((len(places), *array.shape[1:]), array.dtype)
            array.take(places, axis=0, out=kept[name], mode="clip")  # "raise" would buffer
        self.clear()
        self._arrays, self._count, self._has_forgotten = kept, len(places), True
        self._index.add(self._known, self._count)

    def track_changes(self):
        """Starts to track which rows are added or replaced, with a byte per row."""
        self._arrays[CHANGED] = np.zeros(len(self._arrays[IDS]), bool)
        self._has_forgotten = False

    def changed(self):
        """Returns the positions of changed rows, or None if rows were forgotten."""
        changed = self._arrays[CHANGED][: self._count]
        return None if self._has_forgotten else np.flatnonzero(changed)

    def stream(self, places=None):
        """Yields (name, dtype, numbers, iterator of arrays) of the entries of `state`, in chunks.

        The rows of a table are sorted by id; `places` (n,) selects rows.
        """
        places = np.arange(self._count) if places is None else places
        tables = self._arrays[TABLES][places]
        places = places[np.lexsort((self._arrays[IDS][places], tables))]
        bounds = np.cumsum([0, *np.bincount(tables, minlength=len(self.names))])
        for number, table in enumerate(self.names):
            own = places[bounds[number] : bounds[number + 1]]
            for name in (IDS, *self._parts):
                array = self._arrays[name]
                numbers = len(own) * int(np.prod(array.shape[1:]))
                yield f"{table}/{name}", array.dtype, numbers, self._chunks(name, own)

    def merge(self, state):
        """Adds the rows of another `state`, replacing rows of the same keys; see `load`."""
        for number, table in enumerate(self.names):
            own = self._state_of(state, table)
            check_ids(table, own[IDS])
            for start in range(0, len(own[IDS]), CHUNK):
                part = slice(start, start + CHUNK)
                self._merge_rows(RowKeys.of(own[IDS][part], number), own, part)

    def state(self):
        """Returns {"table/array": vector}, copies.

        The arrays of a table are "ids" (n,) int64, (n * dimension,) float32 for each array of rows,
        and (n,) int32 for each array of counts.
        """
        tables, arrays = self._arrays[TABLES][: self._count], {}
        order = np.argsort(tables, kind="stable") if len(self.names) > 1 else None
        bounds = np.cumsum([0, *np.bincount(tables, minlength=len(self.names))])
        for number, table in enumerate(self.names):
            own = slice(bounds[number], bounds[number + 1])
            for name in (IDS, *self._parts):
                array = self._arrays[name]
                rows = array[own].copy() if order is None else array.take(order[own], axis=0)
                arrays[f"{table}/{name}"] = rows.reshape(-1)
        return arrays

    def load(self, state):
        """Loads a `state` into an empty store. A table without arrays is empty.

        Raises
        ------
        ShapeError
            For arrays of other names, types or lengths, and for negative or repeated ids.
        ConfigError
            For more rows than the index can number.
        """
        states = {table: self._state_of(state, table) for table in self.names}
        for table, own in states.items():
            check_ids(table, own[IDS])
        counts = [len(own[IDS]) for own in states.values()]
        self._check_count(sum(counts))
        self._count = sum(counts)
        for name, array in self._arrays.items():
            self._arrays[name] = allocate((self._count, *array.shape[1:]), array.dtype)
        self._arrays[TABLES][:] = np.arange(len(counts)).repeat(counts)
        for name in (IDS, *self._parts):
            parts = [own[name] for own in states.values()]
            np.concatenate(parts, out=self._arrays[name].reshape(-1))
        self._index.add(self._known, self._count)

    def check_arrays(self, state):
        """Raises ShapeError unless the arrays of `state` have valid names, types and lengths."""
        for table in self.names:
            self._state_of(state, table)

    def load_all(self, states):
        """Loads several states, where later rows of a key replace earlier ones."""
        self.clear()
        first, *others = states or [{}]
        self.load(first)
        for state in others:
            self.merge(state)

    @property
    def _known(self):
        return RowKeys(self._arrays[TABLES], self._arrays[IDS])

    def _chunks(self, name, places):
        for start in range(0, len(places), CHUNK):
            yield self.take(name, places[start : start + CHUNK])

    def _merge_rows(self, keys, state, part):
        shapes = {name: shape for name, (_, shape) in self._kinds.items()}
        values = {name: state[name].reshape(-1, *shapes[name])[part] for name in self._parts}
        places = self.find(keys)
        known, new = places >= 0, places < 0
        for name, of in values.items():
            self.put(name, places[known], of[known])
        if new.any():
            self.add(keys.take(new), {name: of[new] for name, of in values.items()})

    def _no_rows(self):
        """Returns {name: empty array} of all arrays of rows and counts."""
        return {name: np.zeros((0, *shape), kind) for name, (kind, shape) in self._kinds.items()}

    def _check_count(self, count):
        if count > LARGEST:
            raise ConfigError(
                f"the tables {', '.join(self.names)} must have at most {LARGEST} rows in a "
                f"process, got {count}; share them among more, or let them forget by expire_after"
            )

    def _make_room(self, count):
        self._check_count(count)
        if count > len(self._arrays[IDS]):
            room = count + count // ROOM
            for name, array in self._arrays.items():  # nobody else holds them
                self._arrays[name] = grow(array, room)

    def _state_of(self, state, table):
        """Returns {"ids", "rows" or a slot: vector} of one table."""
        head = f"{table}/"
        own = {
            name[len(head) :]: a for name, a in state.items() if name.rpartition("/")[0] == table
        }
        empty = {name: array.reshape(-1) for name, array in self._no_rows().items()}
        own = own or {IDS: np.zeros(0, np.int64), **empty}
        self._check_arrays(f"table {table!r}", own)
        return own

    def _check_arrays(self, where, state):
        count, names = len(state.get(IDS, ())), (IDS, *self._parts)
        if set(state) != set(names):
            raise ShapeError(f"{where} needs the arrays {[*names]}, got {[*state]}")
        for name in names:
            array, got = self._arrays[name], state[name]
            kind, need = array.dtype, (count * int(np.prod(array.shape[1:])),)
            if got.shape != need or got.dtype != kind:
                text = f"{kind} {need}, got {got.dtype} {got.shape}"
                raise ShapeError(f"{where} needs {name} of {text}")


def check_ids(table, ids):
    """Raises ShapeError unless ids are distinct and at least 0."""
    ids = np.sort(ids)
    wrong = np.concatenate([ids[ids < 0], ids[1:][ids[1:] == ids[:-1]]])
    if len(wrong):
        raise ShapeError(f"table {table!r} needs ids of at least 0, each once, got {wrong[0]}")
