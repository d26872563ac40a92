"""The cached replica of a process, and the threads it computes with."""

import os
from contextlib import contextmanager
from functools import lru_cache
from weakref import WeakKeyDictionary, WeakSet, ref

from threadpoolctl import threadpool_limits

from sparkdl.nn.execution.device import backend_for
from sparkdl.nn.execution.replica import make_replica
from sparkdl.nn.tables.table_reader import ShardReaders, TableReader
from sparkdl.training.saving.stored_tables import StoredTables

OPEN = WeakKeyDictionary()  # {StoredTables: input of ShardReaders}
TRAINED = WeakSet()  # replicas that are being trained
LOADED = WeakKeyDictionary()  # {replica: weak reference to the state loaded for prediction}


def replica_for(conf, device="auto", backend="auto"):
    """Returns this process's replica for training; it outlives a task, with its compiled programs.

    The caller loads and trains it; for predictions see ModelInUse.
    """
    replica = kept_replica(conf, device, backend)
    LOADED.pop(replica, None)
    TRAINED.add(replica)
    return replica


@contextmanager
def closing_training(replica):
    """Releases the replica for predictions when this context, which trains it, ends."""
    try:
        yield
    finally:
        TRAINED.discard(replica)


@lru_cache(maxsize=2)
def kept_replica(conf, device, backend):
    """Returns the cached replica of this process, in its current state."""
    return make_replica(conf, backend_for(conf, device, backend))


@lru_cache(maxsize=1)
def second_replica(conf, device, backend):
    """Returns another replica of this process, for when the cached one is in use."""
    return make_replica(conf, backend_for(conf, device, backend))


def keep_loaded(replica, state):
    """Loads a TrainState into a replica for prediction, unless it is already loaded."""
    loaded = LOADED.get(replica)
    if loaded is None or loaded() is not state:
        LOADED.pop(replica, None)  # during loading it has no valid state
        load_to_read(replica, state)
        LOADED[replica] = ref(state)


def load_to_read(replica, state):
    """Loads the contents of `TrainState.without_slots` into a replica, for predictions only."""
    replica.load(state.params, state.buffers)
    if isinstance(state.tables, StoredTables):
        map_tables(replica, state.tables)
    else:
        replica.load_tables(state.tables, TableReader)


def map_tables(replica, tables):
    """Gives a replica the rows of StoredTables to read, memory-mapped from files of this host."""
    if tables not in OPEN:
        OPEN[tables] = tables.open_to_read()
    replica.load_tables(OPEN[tables], ShardReaders)


def limit_threads():
    """Limits the threads for matrix products to the cores that the task owns.

    Spark sets OMP_NUM_THREADS to spark.task.cpus, as executors share their hosts' cores. Without it
    all cores of this process may be used.
    """
    return limit_to(count_threads())


def count_threads():
    """Returns the number of threads that this task may compute with."""
    threads = os.environ.get("OMP_NUM_THREADS") or str(len(os.sched_getaffinity(0)))
    return int(threads.split(",")[0])


@lru_cache(maxsize=1)
def limit_to(threads):
    """Limits the threads of all libraries of this process; free for an unchanged number."""
    return threadpool_limits(threads)
