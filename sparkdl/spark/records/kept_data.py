"""Data that fits have read, kept on the executors for later fits of the same data.

    identity of a later fit's data    what happens
    equal, all folders present        the folders are used; nothing is read, checked or counted
    equal, some folders gone          the remaining ones are removed, the data is read
    another, or none                  the data is read

Data of a fit that failed or relaunched its workers is removed. So are the least recently used data
sets, once all together exceed the setting spark.sparkdl.keptData of the SparkSession or the
SparkContext: 4g by default, 0 to keep nothing. Under dynamic allocation
(spark.dynamicAllocation.enabled) nothing is kept, as Spark would never release an executor that
holds data. Everything else is removed with the SparkContext.
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
from sparkdl.spark.jobs.result_size import bytes_of
from sparkdl.spark.jobs.shared_value import encrypts
from sparkdl.spark.jobs.slots import dynamic, option
from sparkdl.spark.records.data_identity import UNSEEN, identify, is_current, is_gone, tell_doubt
from sparkdl.spark.records.executor_store import ExecutorStore

log = logging.getLogger(__name__)
PLAIN = (
    "spark.io.encryption.enabled holds for Spark's own files: records that this fit keeps on the "
    "disks of executors are not encrypted; let spark.local.dir and TMPDIR be on encrypted disks"
)
SETTING, DEFAULT = "spark.sparkdl.keptData", "4g"
keeping = ContextVar("keeping", default=True)
_lock = threading.Lock()
_kept: Any = None, None  # of the last SparkContext used: a process has one at a time


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
        Number of fits that use it now: it is not removed while there are any.
    is_sound : bool
        Whether it may be kept.
    """

    def __init__(self, identity, store):
        self.identity, self.store = identity, store
        self.users, self.is_sound = 1, identity is not None


class KeptData:
    """The data sets of a SparkContext that later fits can find.

    Parameters
    ----------
    limit : function () -> int
        Maximum bytes of all data sets together.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit, self._lock = limit, threading.RLock()
        self._sets: list[DataSet] = []  # least recently used first

    def find(self, identity: Any) -> DataSet | None:
        """Returns the DataSet of this identity, counting one more user, or None."""
        with self._lock:
            self._keep_only([one for one in self._sets if not is_gone(one.identity)])
            found = next((one for one in self._sets if one.identity == identity), None)
            if found is None:
                return None
            found.users += 1
        try:
            is_whole = found.store.is_whole()
        except BaseException:  # such as an interrupt, which says nothing about the folders
            self.release(found, keep=True)
            raise
        if is_whole:
            return found
        self.release(found, keep=False)
        return None

    def release(self, data_set: DataSet, keep: bool) -> None:
        """Ends a use of a data set, which is removed unless all its users want to keep it."""
        with self._lock:
            data_set.users -= 1
            data_set.is_sound &= keep
            others = [one for one in self._sets if one is not data_set]
            self._sets = [*others, data_set]
            if not (data_set.is_sound and self._is_worth_keeping(data_set, others)):
                self._keep_only(others)
            self.shrink()

    def shrink(self) -> None:
        """Removes the least recently used data sets, until the rest is within the limit."""
        with self._lock:
            if self._sets:
                self._keep_only(within(self._limit(), self._sets))

    def clear(self) -> None:
        """Removes all data sets, those in use after their last use."""
        with self._lock:
            self._keep_only([])

    def _is_worth_keeping(self, data_set, others):
        """Returns whether it is within the limit, and no other fit has read the same data
        meanwhile.
        """
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
        Of reading it now, by phase.
    why_not_kept : str or None
        Why later fits cannot use it, if its origin is the reason.
    """

    data_set: DataSet
    kept: KeptData
    was_kept: bool
    seconds: dict[str, float]
    why_not_kept: str | None = None

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
    """Returns the last data sets that together take at most `limit` bytes."""
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
    """Makes the fits inside neither keep data nor look for it, as their data is not used again."""
    token = keeping.set(False)
    try:
        yield
    finally:
        keeping.reset(token)


def size_limit(sc):
    """Returns the maximum bytes of all kept data."""
    if dynamic(sc):
        return 0
    text = option(sc, SETTING, DEFAULT)
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is not None:
        text = session.conf.get(SETTING, text)
    try:
        return bytes_of(sc, text)
    except (Py4JError, PySparkException) as error:
        raise ConfigError(
            f"{SETTING} must be a size such as 4g or 512m, or 0 to keep nothing, got {text}"
        ) from error


def open_data(sc: SparkContext, records: Any, schema: Any) -> OpenedData:
    """Finds SparkRecords among the kept data sets, or reads them.

    Raises
    ------
    DataError
        For the first unusable record, or if there are none.
    """
    kept = kept_data(sc)
    kept.shrink()  # the setting may have changed
    may_keep = keeping.get() and size_limit(sc)
    identity = identify(records, schema) if may_keep else None
    why = tell_doubt(records) if may_keep and identity is None else None
    found = None if identity is None else kept.find(identity)
    if found is not None:
        return OpenedData(found, kept, True, {})
    if encrypts(sc):
        log.warning(PLAIN)
    key = uuid.uuid4().hex
    store = ExecutorStore(records.stored(sc, schema, key), key)
    try:
        seconds = store.measure()
        if identity is not None and not is_current(identity, records, schema):
            identity, why = None, UNSEEN
        return OpenedData(DataSet(identity, store), kept, False, seconds, why)
    except BaseException:
        store.remove(while_read=True)
        raise
