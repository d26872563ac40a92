"""A table of rows by id, which has the rows that were trained and no others."""

from zlib import crc32

import numpy as np

from sparkdl.engine import ops
from sparkdl.errors import ConfigError, DivergedError, ShapeError
from sparkdl.nn.tables.id_index import LARGEST, IdIndex

IDS, ROWS = "ids", "rows"
ROOM = 32  # a full array grows by this part of itself


class RowTable:
    """Rows of float32 for int64 ids, with what an optimizer keeps for each.

    A row that was never updated is a function of seed, table's name and id, and takes no memory.
    Reading adds no rows; updating does. So the same updates give the same bits, whoever makes them.

    Parameters
    ----------
    name : str
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
    Lazy updates: torch.optim.SparseAdam.
    """

    def __init__(self, name, dimension, optimizer, *, seed=0, scale=0.05):
        check_optimizer(optimizer)
        self.name, self.dimension, self.optimizer = name, dimension, optimizer
        self.seed, self.scale = seed, scale
        self.clear()

    def clear(self):
        """Forgets all rows."""
        self._index, self._count = IdIndex(), 0
        widths = {IDS: (), ROWS: (self.dimension,)}
        widths |= dict.fromkeys(self.optimizer.slot_names, (self.dimension,))
        types = {IDS: np.int64}
        self._arrays = {
            name: np.zeros((0, *width), types.get(name, np.float32))
            for name, width in widths.items()
        }

    def __len__(self):
        """The number of rows that were updated at least once."""
        return self._count

    @property
    def nbytes(self):
        """Bytes of all arrays and of the index, room for growth too."""
        return self._index.nbytes + sum(array.nbytes for array in self._arrays.values())

    def read(self, ids):
        """Returns the rows (n, dimension) of ids (n,) int64, at least 0; new arrays."""
        places = self._index.find(ids, self._arrays[IDS])
        missing = places < 0
        if not missing.any():
            return self._arrays[ROWS][places]
        rows = np.empty((len(ids), self.dimension), np.float32)
        rows[~missing] = self._arrays[ROWS][places[~missing]]
        rows[missing] = self.first_rows(ids[missing])
        return rows

    def first_rows(self, ids):
        """Returns the rows (n, dimension) that ids begin with."""
        if not self.scale:
            return np.zeros((len(ids), self.dimension), np.float32)
        stream = crc32(self.name.encode())
        draws = ops.uniform(ids.astype(np.uint64), 0, (self.dimension,), self.seed, stream)
        return np.float32(2 * self.scale) * draws - np.float32(self.scale)

    def update(self, ids, gradients, rate, t):
        """Moves the rows of ids by the optimizer's step.

        Parameters
        ----------
        ids : (n,) int64, at least 0
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
        self._check(ids, gradients)
        places = self._places(ids)
        rows, old = self._arrays[ROWS][places], self._slots(places)
        decay = np.float32(self.optimizer.weight_decay) if self.optimizer.weight_decay else None
        rate, t = np.float32(rate), np.float32(t)
        step, new = self.optimizer.move(rows, gradients, old, rate, t, None, decay)
        self._arrays[ROWS][places] = rows + step
        for name, values in new.items():
            self._arrays[name][places] = values

    def state(self):
        """Returns {"ids": (n,) int64, "rows" and each slot: (n * dimension,) float32}, copies."""
        return {n: array[: self._count].copy().reshape(-1) for n, array in self._arrays.items()}

    def load(self, state):
        """Takes over what `state` gave; without any arrays the table is empty.

        Raises
        ------
        ShapeError
            Arrays of other names, types or lengths, ids below 0 or twice.
        """
        self.clear()
        if not state:
            return
        self._check_state(state)
        count = len(state[IDS])
        for name, array in self._arrays.items():
            self._arrays[name] = np.empty((count, *array.shape[1:]), array.dtype)
            self._arrays[name].reshape(-1)[:] = state[name]
        self._index.add(self._arrays[IDS], count)
        self._count = count

    def _places(self, ids):
        """Returns the places of ids, where those without one have got one."""
        places = self._index.find(ids, self._arrays[IDS])
        missing = places < 0
        if missing.any():
            places[missing] = self._add(ids[missing])
        return places

    def _add(self, ids):
        start, self._count = self._count, self._count + len(ids)
        self._make_room()
        new = slice(start, self._count)
        self._arrays[IDS][new], self._arrays[ROWS][new] = ids, self.first_rows(ids)
        for name in self.optimizer.slot_names:
            self._arrays[name][new] = self.optimizer.slot_start.get(name, 0)
        self._index.add(self._arrays[IDS], self._count)
        return np.arange(start, self._count)

    def _make_room(self):
        if self._count > LARGEST:
            raise ConfigError(f"table {self.name!r} must have at most {LARGEST} rows")
        if self._count > len(self._arrays[IDS]):
            room = self._count + self._count // ROOM
            for array in self._arrays.values():
                array.resize((room, *array.shape[1:]), refcheck=False)  # nobody else has them

    def _slots(self, places):
        return {name: self._arrays[name][places] for name in self.optimizer.slot_names}

    def _check(self, ids, gradients):
        need = (len(ids), self.dimension)
        if gradients.shape != need:
            raise ShapeError(f"table {self.name!r} needs gradients {need}, got {gradients.shape}")
        if not np.isfinite(gradients).all():
            row = np.argwhere(~np.isfinite(gradients))[0][0]
            raise DivergedError(
                f"table {self.name!r}: the gradient of id {ids[row]} is not finite; lower the rate"
            )

    def _check_state(self, state):
        where, count = f"table {self.name!r}", len(state.get(IDS, ()))
        if set(state) != set(self._arrays):
            raise ShapeError(f"{where} needs the arrays {[*self._arrays]}, got {[*state]}")
        for name, array in self._arrays.items():
            need, got = (count * (1 if name == IDS else self.dimension),), state[name]
            if got.shape != need or got.dtype != array.dtype:
                text = f"{array.dtype} {need}, got {got.dtype} {got.shape}"
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
