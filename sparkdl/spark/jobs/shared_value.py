"""Values shared by all tasks of a job.

A plain broadcast cannot carry functions from a user's script or notebook, as it uses plain pickle.
Values here are pickled as Spark pickles functions, with their arrays out of band, uncopied.
"""

import errno
import os
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, finalize

from py4j.protocol import Py4JError
from pyspark import Broadcast, cloudpickle

from sparkdl.errors import ConfigError, DataError
from sparkdl.spark.jobs.archive_imports import keep_archives_in_task
from sparkdl.spark.jobs.executor_disks import local_disks
from sparkdl.spark.jobs.executor_python import lacks_own_module, python_cure
from sparkdl.spark.jobs.mapped_value import map_value
from sparkdl.spark.jobs.user_code import digest_code, pickle_value

LARGE = 16 << 20  # bytes of a value's arrays
LEFT = {}  # {file: (weak reference in the JVM, needs)}, of broadcasts that Python has dropped
OPEN = WeakKeyDictionary()  # {broadcast: its value}, in a task's process


class LocalValue(NamedTuple):
    """A SharedValue's counterpart in a process that Spark does not know."""

    value: Any

    @property
    def kept_value(self):
        """The value; see SharedValue."""
        return self.value


def open_shared(rest, arrays):
    """Returns the LocalValue in a broadcast; raises ConfigError if a module is missing."""
    keep_archives_in_task()
    try:
        return LocalValue(cloudpickle.loads(rest, buffers=arrays))
    except (AttributeError, ImportError) as error:
        why = f"{type(error).__name__}: {error}"
        if not lacks_own_module(why):
            raise
        raise ConfigError(
            "objects for tasks (conf, transform, prepare) must be importable on the executors, "
            f"got {why}{python_cure(why)}"
        ) from error


def broadcast(sc, value, needs=None):
    """Returns the broadcast of a picklable value; raises DataError if the disk is full.

    `needs` is kept until neither Python nor a DataFrame refers to the broadcast.
    """
    made = Broadcast.__new__(Broadcast)  # knows its file even if __init__ fails
    remove_left()
    try:
        Broadcast.__init__(made, sc, value, sc._pickled_broadcast_vars)
        in_jvm = sc._jvm.java.lang.ref.WeakReference(made._jbroadcast)
        finalize(made, LEFT.__setitem__, made._path, (in_jvm, needs)).atexit = False
        return made
    except Exception as error:  # pickle wraps an OSError in its own, with the same message
        remove_file(vars(made).get("_path"))
        if os.strerror(errno.ENOSPC) not in str(error):
            raise
        raise DataError(
            f"{sc._temp_dir} on the driver: must have room for objects for tasks, got: {error}; "
            "make room there, or let Spark use another folder (spark.local.dir)"
        ) from error


def remove_file(path):
    """Removes a broadcast's file; truncates it first, as it may still be open."""
    if path is not None:
        with suppress(OSError):
            os.truncate(path, 0)
            Path(path).unlink()


def remove_left():
    """Removes files of broadcasts that no DataFrame needs; Spark would keep them until it stops."""
    for path, (in_jvm, _) in LEFT.copy().items():
        if not is_needed(in_jvm):
            LEFT.pop(path, None)  # another thread may have done so
            remove_file(path)


def is_needed(in_jvm):
    """Returns whether the JVM object of a weak reference is still referenced."""
    try:
        return in_jvm.get() is not None
    except (Py4JError, ConnectionError):  # that JVM is gone; another one may have followed
        return False


def encrypts(sc):
    """Returns whether Spark encrypts its files on disk; files of ours are not encrypted."""
    return sc._encryption_enabled


def copy_bytes(array):
    """Returns the bytes of a PickleBuffer; encryption needs a length, which PickleBuffers lack."""
    with array.raw() as raw:
        return raw.tobytes() if raw.readonly else bytearray(raw)


class SharedValue:
    """A value that is sent to each executor once, however many tasks run there.

    Spark frees it once neither this nor a DataFrame or RDD refers to it. `unpersist` would not do
    for lazily computed DataFrames: it deletes files whose names executors still refer to.

    Parameters
    ----------
    sc : SparkContext
    value : object
    needs : object
        Kept on the driver for as long as Spark may need the value.
    """

    def __init__(self, sc, value, needs=None):
        rest, arrays = pickle_value(value)
        self._code = digest_code(rest)
        large = sum(array.raw().nbytes for array in arrays) >= LARGE
        is_encrypted = encrypts(sc)
        self._name = uuid.uuid4().hex if large and not is_encrypted else None
        if is_encrypted:
            arrays = [copy_bytes(array) for array in arrays]
        self._broadcast = broadcast(sc, (rest, arrays), needs)

    @property
    def value(self):
        """On an executor: the value, its arrays read-only."""
        return open_shared(*self._broadcast.value).value

    @property
    def kept_value(self):
        """On an executor: the value, one immutable object for all tasks of a process.

        The processes of an executor share the memory of large arrays.
        """
        if self._broadcast not in OPEN:
            OPEN[self._broadcast] = self.value if self._name is None else self._map()
        return OPEN[self._broadcast]

    def _map(self):
        rest, *arrays = map_value(local_disks()[0], self._name, self._parts)
        vars(self._broadcast).pop("_value", None)  # frees this process's own copy
        return open_shared(rest, arrays).value

    def _parts(self):
        rest, arrays = self._broadcast.value
        return [rest, *arrays]

    def has_code_of(self, value):
        """Returns whether the user code in an otherwise equal value is the same as when this was
        sent.

        User code that is pickled by value may have changed since.
        """
        return self._code is None or self._code == digest_code(pickle_value(value)[0])

    def to_local(self):
        """Returns the pickled form for a process unknown to Spark, which gets a LocalValue."""
        return open_shared, self._broadcast.value

    def destroy(self):
        """Frees the value everywhere; no task may need it any more."""
        self._broadcast.destroy()


def share_if_changed(last, key, sc, value, needs):
    """Returns (key, SharedValue of the value): `last` if its key and the user's code are the same.

    Parameters
    ----------
    last : (key, SharedValue) or None
    key : object
        Differs if the value does.
    sc, value, needs
        As SharedValue takes them.
    """
    if last is None or last[0] != key or not last[1].has_code_of(value):
        return key, SharedValue(sc, value, needs)
    return last


@contextmanager
def sharing(sc, value):
    """Provides a SharedValue that lives for one job."""
    shared = SharedValue(sc, value)
    try:
        yield shared
    finally:
        shared.destroy()
