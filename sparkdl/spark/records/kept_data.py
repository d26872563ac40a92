"""Data that fits have read, kept on the executors for later fits of the same data.

    identity of a later fit's data    what happens
    equal, all folders there          the folders are used; nothing is read, checked or counted
    equal, some folders gone          what is left of them is removed, the data is read
    another, or none                  the data is read

The data of a fit that failed, or that launched its workers again, is removed. So are the data sets
that were not used for longest, where all take more bytes than the setting spark.sparkdl.keptData
says: of the SparkSession or of the SparkContext, 4g unless given, 0 for none. Where executors come
and go (spark.dynamicAllocation.enabled) none is kept, as Spark would never give back an executor
that has some. What is left goes with the SparkContext.
"""

import logging
import threading
import uuid
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs.shared_value import encrypts
from sparkdl.spark.jobs.slots import dynamic, option
from sparkdl.spark.records.data_identity import identify, is_gone
from sparkdl.spark.records.executor_store import ExecutorStore

log = logging.getLogger(__name__)
PLAIN = (
    "spark.io.encryption.enabled holds for Spark's own files: records that this fit keeps on the "
    "disks of executors are not encrypted; let spark.local.dir and TMPDIR be on encrypted disks"
)
SETTING, DEFAULT = "spark.sparkdl.keptData", "4g"
keeping = ContextVar("keeping", default=True)
_lock = threading.Lock()
_kept: Any = None, None  # of the SparkContext that was used last: a process has one at a time


class DataSet:
    """A data set on the executors.

    Parameters
    ----------
    identity : DataIdentity or None
        None: later fits do not find it.
    store : ExecutorStore

    Attributes
    ----------
    users : int
        Fits that use it now: while there are any, it is not removed.
    is_sound : bool
        Whether it may be kept.
    """

    def __init__(self, identity, store):
        self.identity, self.store = identity, store
        self.users, self.is_sound = 1, identity is not None


class KeptData:
    """The data sets of a SparkContext that later fits find.

    Parameters
    ----------
    limit : function () -> int
        Bytes that all may take.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit, self._lock = limit, threading.RLock()
        self._sets: list[DataSet] = []  # the one used last stands last

    def find(self, identity: Any) -> DataSet | None:
        """Returns the DataSet of this identity, for one more user, or None."""
        with self._lock:
            self._keep_only([one for one in self._sets if not is_gone(one.identity)])
            found = next((one for one in self._sets if one.identity == identity), None)
            if found is None:
                return None
            found.users += 1
        if found.store.is_whole():
            return found
        self.release(found, keep=False)
        return None

    def release(self, data_set: DataSet, keep: bool) -> None:
        """Ends a use of a data set, which is removed unless all its users say to keep it."""
        with self._lock:
            data_set.users -= 1
            data_set.is_sound &= keep
            others = [one for one in self._sets if one is not data_set]
            self._sets = [*others, data_set]
            if not (data_set.is_sound and self._is_worth_keeping(data_set, others)):
                self._keep_only(others)
            self.shrink()

    def shrink(self) -> None:
        """Removes what was not used for longest, until the rest is within the limit."""
        with self._lock:
            if self._sets:
                self._keep_only(within(self._limit(), self._sets))

    def clear(self) -> None:
        """Removes all that is in no use, and the rest after its last use."""
        with self._lock:
            self._keep_only([])

    def _is_worth_keeping(self, data_set, others):
        """Returns whether it is within the limit, and no other fit has read the same meanwhile."""
        twice = any(one.identity == data_set.identity for one in others)
        return not twice and data_set.store.nbytes <= self._limit()

    def _keep_only(self, data_sets):
        dropped = [one for one in self._sets if one not in data_sets]
        self._sets = data_sets
        for one in dropped:
            one.is_sound = False
            remove_unused(one)


class OpenedData(NamedTuple):
    """A fit's use of a data set.

    Parameters
    ----------
    data_set : DataSet
    kept : KeptData
    was_kept : bool
        Whether an earlier fit has read it.
    seconds : {str: float}
        That reading took now, by phase.
    """

    data_set: DataSet
    kept: KeptData
    was_kept: bool
    seconds: dict[str, float]

    @property
    def store(self):
        return self.data_set.store

    def release(self, keep):
        """Ends the use; see KeptData.release."""
        self.kept.release(self.data_set, keep)


def remove_unused(data_set):
    if not data_set.users:
        data_set.store.remove()


def within(limit, data_sets):
    """Returns the last of the data sets, as many as take no more than `limit` bytes."""
    while sum(one.store.nbytes for one in data_sets) > limit:
        data_sets = data_sets[1:]
    return data_sets


def kept_data(sc: SparkContext) -> KeptData:
    """Returns the KeptData of a SparkContext."""
    global _kept
    with _lock:
        if _kept[0] is not sc:
            _kept = sc, KeptData(partial(size_limit, sc))
        return _kept[1]


def clear_kept_data(sc: SparkContext | SparkSession) -> None:
    """Removes data that fits have kept on the executors for later fits."""
    kept_data(sc.sparkContext if isinstance(sc, SparkSession) else sc).clear()


@contextmanager
def keeping_nothing():
    """Has the fits inside neither keep data nor look for it, as theirs does not come again."""
    token = keeping.set(False)
    try:
        yield
    finally:
        keeping.reset(token)


def size_limit(sc):
    """Returns how many bytes all data that is kept may take."""
    if dynamic(sc):
        return 0
    text = option(sc, SETTING, DEFAULT)
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is not None:
        text = session.conf.get(SETTING, text)
    try:
        return sc._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(text)
    except (Py4JError, PySparkException) as error:
        raise ConfigError(
            f"{SETTING} must be a size such as 4g or 512m, or 0 to keep nothing, got {text}"
        ) from error


def open_data(sc: SparkContext, records: Any, schema: Any) -> OpenedData:
    """Finds the data set of SparkRecords among those that are kept, or reads it.

    Raises
    ------
    DataError
        For the first record that cannot be used, and where there are none.
    """
    kept = kept_data(sc)
    kept.shrink()  # the setting may be another by now
    identity = identify(records, schema) if keeping.get() and size_limit(sc) else None
    found = None if identity is None else kept.find(identity)
    if found is not None:
        return OpenedData(found, kept, True, {})
    if encrypts(sc):
        log.warning(PLAIN)
    key = uuid.uuid4().hex
    store = ExecutorStore(records.stored(sc, schema, key), key)
    try:
        seconds = store.measure()
        return OpenedData(DataSet(identity, store), kept, False, seconds)
    except BaseException:
        store.remove()
        raise
