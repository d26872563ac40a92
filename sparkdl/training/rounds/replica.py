"""The replica of a process, and the threads that it computes with."""

import os
from contextlib import contextmanager
from functools import lru_cache
from weakref import WeakKeyDictionary, WeakSet, ref

from threadpoolctl import threadpool_limits

from sparkdl.nn.execution.device import backend_for
from sparkdl.nn.execution.replica import make_replica
from sparkdl.nn.tables.table_reader import ShardReaders, TableReader
from sparkdl.training.saving.stored_tables import StoredTables

OPEN = WeakKeyDictionary()  # {StoredTables: what ShardReaders load}
TRAINED = WeakSet()  # replicas that are being trained
LOADED = WeakKeyDictionary()  # {replica: weak reference to the state that it has to read}


def replica_for(conf, device="auto", backend="auto"):
    """Returns the replica of this process, which outlives a task with its compiled programs.

    Whoever asks loads it, and trains; see ModelInUse for predictions.
    """
    replica = kept_replica(conf, device, backend)
    LOADED.pop(replica, None)
    TRAINED.add(replica)
    return replica


@contextmanager
def closing_training(replica):
    """Lets predictions have the replica once what is in here has trained it."""
    try:
        yield
    finally:
        TRAINED.discard(replica)


@lru_cache(maxsize=2)
def kept_replica(conf, device, backend):
    """Returns the replica of this process, as it is."""
    return make_replica(conf, backend_for(conf, device, backend))


@lru_cache(maxsize=1)
def second_replica(conf, device, backend):
    """Returns another replica of this process, for when the kept one is in use."""
    return make_replica(conf, backend_for(conf, device, backend))


def keep_loaded(replica, state):
    """Gives a replica a TrainState to read, unless it has it."""
    loaded = LOADED.get(replica)
    if loaded is None or loaded() is not state:
        LOADED.pop(replica, None)  # while it is loaded, it has none
        load_to_read(replica, state)
        LOADED[replica] = ref(state)


def load_to_read(replica, state):
    """Gives a replica what `TrainState.without_slots` has, for predictions alone."""
    replica.load(state.params, state.buffers)
    if isinstance(state.tables, StoredTables):
        map_tables(replica, state.tables)
    else:
        replica.load_tables(state.tables, TableReader)


def map_tables(replica, tables):
    """Gives a replica the rows of StoredTables to read, mapped from files of this host."""
    if tables not in OPEN:
        OPEN[tables] = tables.open_to_read()
    replica.load_tables(OPEN[tables], ShardReaders)


def limit_threads():
    """Limits the threads for products to the cores that the task owns.

    Spark sets OMP_NUM_THREADS to spark.task.cpus, as executors share their hosts' cores. Without it
    there are as many as this process may use.
    """
    return limit_to(count_threads())


def count_threads():
    """Returns the threads that this task may compute with."""
    threads = os.environ.get("OMP_NUM_THREADS") or str(len(os.sched_getaffinity(0)))
    return int(threads.split(",")[0])


@lru_cache(maxsize=1)
def limit_to(threads):
    """Limits the threads of all libraries of this process; the same number again costs nothing."""
    return threadpool_limits(threads)
