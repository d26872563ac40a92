"""Training state that is carried from round to round: vectors and counters."""

from dataclasses import dataclass, field, replace

import numpy as np

from sparkdl.config import is_integer
from sparkdl.errors import require
from sparkdl.training.saving.stored_tables import StoredTables, Tables, tables_to_read

COUNTERS = ("epoch", "round", "done", "rounds", "iteration", "seed")
BOUNDS = dict.fromkeys(COUNTERS, 53) | {"seed": 63}  # in bits: schedules compute with floats
LARGEST_FACTOR = 3.4028234663852886e38  # of float32


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainState:
    """The state of training: weights, optimizer state and counters; its arrays are never written
    to.

    Parameters
    ----------
    params, buffers, slots : vector
        Weights, non-trained state and optimizer state; one dtype (float32 unless the network's conf
        says otherwise). Without optimizer state or buffers the vector is empty.
    master_state : {name: vector}
        State of the master beside the weights, such as the momentum of blocks.
    worker_states : tuple of {name: vector}
        State that differs between workers, by rank, such as the residual of a codec; empty where
        all have the same.
    owner : str
        The master that `worker_states` belong to, as `TrainingMaster.owner` gives it.
    tables : {"table/array": vector} or StoredTables
        Rows of tables, as `TableReplica.table_arrays` gives them, or the files where they are;
        empty where none was trained.
    epoch, round : int
        The next round to train is this one; both count from 0, rounds anew in each epoch.
    done : int
        Minibatches of this round that each worker has already done; 0 between rounds.
    rounds, iteration : int
        Rounds done in all epochs, where each part of a divided round counts as one, and updates
        done by each replica.
    seed : int
        Seed of everything random in the run, at least 0.
    rate_factor : float
        Factor that listeners have set on all learning rates.
    place : str
        The division into rounds that `round` and `done` refer to, as `Trainer.place` gives it;
        empty if unknown.
    slots_owner : str
        The optimizers that `slots` belong to, as `slots_owner` gives them; empty if unknown.
    """

    params: np.ndarray
    buffers: np.ndarray
    slots: np.ndarray
    master_state: dict[str, np.ndarray] = field(default_factory=dict)
    worker_states: tuple[dict[str, np.ndarray], ...] = ()
    owner: str = ""
    tables: Tables = field(default_factory=dict)
    epoch: int = 0
    round: int = 0
    done: int = 0
    rounds: int = 0
    iteration: int = 0
    seed: int = 0
    rate_factor: float = 1.0
    place: str = ""
    slots_owner: str = ""

    def __post_init__(self) -> None:
        for name in ("params", "buffers", "slots"):
            vector = getattr(self, name)
            require(self, name, _is_vector(vector), "a one-dimensional array of floats")
            require(self, name, vector.dtype == self.params.dtype, f"of dtype {self.params.dtype}")
        sound = _are_vectors(self.master_state)
        require(self, "master_state", sound, "one-dimensional arrays of floats by name")
        states = self.worker_states
        sound = isinstance(states, tuple) and all(map(_are_vectors, states))
        require(self, "worker_states", sound, "a tuple of dicts like `master_state`, one a worker")
        for name in ("owner", "place", "slots_owner"):
            require(self, name, isinstance(getattr(self, name), str), "text")
        for name in COUNTERS:
            require(self, name, is_integer(getattr(self, name), 0), "an integer >= 0")
            below = getattr(self, name) < 2 ** BOUNDS[name]
            require(self, name, below, f"an integer below 2^{BOUNDS[name]}")
        tables = self.tables
        sound = isinstance(tables, dict) and all(map(_is_array, tables.values()))
        sound = sound or isinstance(tables, StoredTables)
        require(self, "tables", sound, "one-dimensional arrays of numbers by name, or StoredTables")
        factor = self.rate_factor
        require(self, "rate_factor", isinstance(factor, float | int) and factor > 0, "a number > 0")
        require(self, "rate_factor", factor <= LARGEST_FACTOR, "a number that float32 has")

    def with_weights(self, params: np.ndarray, buffers: np.ndarray) -> "TrainState":
        """Returns the state with other weights, without the states of the master and its workers.

        Those belong to the weights that they were trained with: workers of ElasticAveraging, for
        instance, keep weights of their own.
        """
        return replace(
            self, params=params, buffers=buffers, master_state={}, worker_states=(), owner=""
        )

    def without_slots(self) -> "TrainState":
        """Returns what predictions need, without the state of optimizers and masters.

        Its tables are for a TableReader, and a Replica loads it without slots.
        """
        return replace(
            self,
            slots=self.slots[:0],
            master_state={},
            worker_states=(),
            tables=tables_to_read(self.tables),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all vectors and rows, wherever they are."""
        vectors = [self.params, self.buffers, self.slots, *self.master_state.values()]
        vectors += [vector for state in self.worker_states for vector in state.values()]
        if isinstance(self.tables, StoredTables):
            return self.tables.nbytes + sum(vector.nbytes for vector in vectors)
        return sum(vector.nbytes for vector in [*vectors, *self.tables.values()])

    @property
    def starts_epoch(self) -> bool:
        """True if nothing of its epoch is trained."""
        return self.round == 0 and self.done == 0

    @property
    def counters(self) -> dict[str, int]:
        """The numbers beside the vectors, as plain integers by name."""
        return {name: int(getattr(self, name)) for name in COUNTERS}


def _is_vector(array):
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind == "f"


def _is_array(array):
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "fi"


def _are_vectors(named):
    return isinstance(named, dict) and all(map(_is_vector, named.values()))
