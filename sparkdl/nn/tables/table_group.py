"""Tables whose rows are as wide and move alike, kept as one."""

from zlib import crc32

import numpy as np

from sparkdl import philox
from sparkdl.errors import ConfigError, DivergedError, ShapeError
from sparkdl.nn.tables.id_index import LARGEST, IdIndex
from sparkdl.nn.tables.row_keys import MOST_TABLES, RowKeys

IDS, ROWS, TABLES = "ids", "rows", "tables"
ROOM = 64  # full arrays grow by this part of themselves
CHUNK = 1 << 16  # numbers of rows that are moved at once: what an optimizer makes of them is cached


class TableGroup:
    """Rows of float32 for keys of several tables, with what an optimizer keeps for each.

    A step calls each kernel once for all tables of a group, however many there are. A row that was
    never updated is a function of seed, table's name and id, and takes no memory. Reading adds no
    rows; updating does. So the same updates give the same bits, whoever makes them.

    Parameters
    ----------
    names : tuple of str
        Of the tables; keys have their numbers, from 0.
    dimension : int
        Numbers of a row.
    optimizer : Optimizer
        Works on the rows of an update alone, so Adam is lazy: the moments of other rows stay.
        It must be one that computes number by number (Optimizer.elementwise).
    seed : int
    scale : float
        First rows are uniform in [-scale, scale).

    References
    ----------
    Lazy updates: torch.optim.SparseAdam. Many tables as one: FBGEMM's table-batched embeddings.
    """

    def __init__(self, names, dimension, optimizer, *, seed=0, scale=0.05):
        check_optimizer(optimizer)
        if len(names) > MOST_TABLES:
            raise ConfigError(
                f"GraphConf.bags must have at most {MOST_TABLES} tables of {dimension} numbers a "
                f"row, got {len(names)}; let several share a table"
            )
        self.names, self.dimension, self.optimizer = tuple(names), dimension, optimizer
        self.seed, self.scale = seed, scale
        self._streams = np.array([crc32(name.encode()) for name in names], np.uint64)
        self.clear()

    def clear(self):
        """Forgets all rows."""
        self._index, self._count, self._found = IdIndex(), 0, None
        self._arrays = {
            TABLES: np.zeros(0, np.int16),
            IDS: np.zeros(0, np.int64),
            **{name: np.zeros((0, self.dimension), np.float32) for name in self._row_names},
        }

    @property
    def _row_names(self):
        return ROWS, *self.optimizer.slot_names

    def __len__(self):
        """The number of rows that were updated at least once."""
        return self._count

    @property
    def nbytes(self):
        """Bytes of all arrays and of the index, room for growth too."""
        return self._index.nbytes + sum(array.nbytes for array in self._arrays.values())

    def read(self, keys):
        """Returns the rows (n, dimension) of RowKeys (n,) of ids of at least 0; new arrays."""
        places = self._find(keys)
        missing = np.flatnonzero(places < 0)
        if not len(missing):
            return self._arrays[ROWS].take(places, axis=0)
        rows = np.empty((len(places), self.dimension), np.float32)
        known = np.flatnonzero(places >= 0)
        rows[known] = self._arrays[ROWS].take(places[known], axis=0)
        rows[missing] = self.first_rows(keys.take(missing))
        return rows

    def first_rows(self, keys):
        """Returns the rows (n, dimension) that keys begin with."""
        if not self.scale:
            return np.zeros((len(keys.ids), self.dimension), np.float32)
        ids, streams = keys.ids.astype(np.uint64), self._streams[keys.tables]
        draws = philox.uniform(ids, 0, self.dimension, self.seed, streams)
        return np.float32(2 * self.scale) * draws - np.float32(self.scale)

    def update(self, keys, gradients, rate, t):
        """Moves the rows of keys by the optimizer's step.

        Parameters
        ----------
        keys : RowKeys (n,) of ids of at least 0
            Each once.
        gradients : (n, dimension) float32
        rate, t : float, int
            Learning rate, and number of the update, from 1.

        Raises
        ------
        ShapeError
            Gradients of another shape.
        DivergedError
            A gradient that is not finite; no row has changed then.
        """
        self._check(keys, gradients)
        places, size = self._places(keys), max(1, CHUNK // self.dimension)
        for start in range(0, len(places), size):
            part = slice(start, start + size)
            self._move(places[part], gradients[part], np.float32(rate), np.float32(t))

    def _move(self, places, gradients, rate, t):
        rows, *slots = (self._arrays[name].take(places, axis=0) for name in self._row_names)
        decay = np.float32(self.optimizer.weight_decay) if self.optimizer.weight_decay else None
        slots = dict(zip(self.optimizer.slot_names, slots, strict=True))
        step, new = self.optimizer.move(rows, gradients, slots, rate, t, None, decay)
        self._arrays[ROWS][places] = rows + step
        for name, values in new.items():
            self._arrays[name][places] = values

    def state(self):
        """Returns {"table/array": vector}, copies.

        The arrays of a table are "ids" (n,) int64, "rows" and each slot (n * dimension,) float32.
        """
        tables, arrays = self._arrays[TABLES][: self._count], {}
        order = np.argsort(tables, kind="stable") if len(self.names) > 1 else None
        bounds = np.cumsum([0, *np.bincount(tables, minlength=len(self.names))])
        for number, table in enumerate(self.names):
            own = slice(bounds[number], bounds[number + 1])
            for name in (IDS, *self._row_names):
                array = self._arrays[name]
                rows = array[own].copy() if order is None else array.take(order[own], axis=0)
                arrays[f"{table}/{name}"] = rows.reshape(-1)
        return arrays

    def load(self, state):
        """Takes over what `state` gave; a table without any arrays is empty.

        Raises
        ------
        ShapeError
            Arrays of other names, types or lengths, ids below 0 or twice.
        """
        self.clear()
        states = {table: self._state_of(state, table) for table in self.names}
        counts = [len(own[IDS]) for own in states.values()]
        self._count = sum(counts)
        for name, array in self._arrays.items():
            self._arrays[name] = np.empty((self._count, *array.shape[1:]), array.dtype)
        self._arrays[TABLES][:] = np.arange(len(counts)).repeat(counts)
        for name in (IDS, *self._row_names):
            parts = [own[name] for own in states.values()]
            np.concatenate(parts, out=self._arrays[name].reshape(-1))
        self._index.add(self._known, self._count)

    @property
    def _known(self):
        return RowKeys(self._arrays[TABLES], self._arrays[IDS])

    def _find(self, keys):
        """Returns the places of keys, -1 where one has none; those of the last keys are kept."""
        if self._found is None or self._found[0] is not keys:
            self._found = keys, self._index.find(keys, self._known)
        return self._found[1]

    def _places(self, keys):
        """Returns the places of keys, where those without one have got one."""
        places = self._find(keys)
        missing = np.flatnonzero(places < 0)
        if len(missing):
            new = self._add(keys.take(missing))
            places[missing], self._found = new, None
        return places

    def _add(self, keys):
        start, self._count = self._count, self._count + len(keys.ids)
        self._make_room()
        new, arrays = slice(start, self._count), self._arrays
        arrays[TABLES][new], arrays[IDS][new] = keys
        arrays[ROWS][new] = self.first_rows(keys)
        for name in self.optimizer.slot_names:
            arrays[name][new] = self.optimizer.slot_start.get(name, 0)
        self._index.add(self._known, self._count)
        return np.arange(start, self._count)

    def _make_room(self):
        if self._count > LARGEST:
            raise ConfigError(f"tables {self.names} must have at most {LARGEST} rows")
        if self._count > len(self._arrays[IDS]):
            room = self._count + self._count // ROOM
            for array in self._arrays.values():
                array.resize((room, *array.shape[1:]), refcheck=False)  # nobody else has them

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

    def _state_of(self, state, table):
        """Returns {"ids", "rows" or a slot: vector} of one table."""
        head = f"{table}/"
        own = {
            name[len(head) :]: a for name, a in state.items() if name.rpartition("/")[0] == table
        }
        empty = {name: np.zeros(0, np.float32) for name in self._row_names}
        own = own or {IDS: np.zeros(0, np.int64), **empty}
        self._check_state(f"table {table!r}", own)
        return own

    def _check_state(self, where, state):
        count, names = len(state.get(IDS, ())), (IDS, *self._row_names)
        if set(state) != set(names):
            raise ShapeError(f"{where} needs the arrays {[*names]}, got {[*state]}")
        for name in names:
            need, got = (count * (1 if name == IDS else self.dimension),), state[name]
            kind = self._arrays[name].dtype
            if got.shape != need or got.dtype != kind:
                text = f"{kind} {need}, got {got.dtype} {got.shape}"
                raise ShapeError(f"{where} needs {name} of {text}")
        ids = np.sort(state[IDS])
        if count and (ids[0] < 0 or (ids[1:] == ids[:-1]).any()):
            raise ShapeError(f"{where} needs ids of at least 0, each once")


def check_optimizer(optimizer):
    """Raises ConfigError for an optimizer that needs more than the rows of an update."""
    if not optimizer.elementwise:
        raise ConfigError(
            f"EmbeddingBag.optimizer must compute number by number, got {optimizer.type_name}; "
            "Sgd, AdaGrad or Adam do"
        )
