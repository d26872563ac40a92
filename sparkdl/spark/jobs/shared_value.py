"""One value for all tasks of a job.

A broadcast alone is not enough: it is pickled plainly, and so could not carry a function from a
user's script or notebook. What goes into it here is pickled as Spark pickles functions, with the
arrays beside, uncopied.
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
from sparkdl.spark.jobs.executor_disks import local_disks
from sparkdl.spark.jobs.executor_python import lacks_own_module, python_cure
from sparkdl.spark.jobs.mapped_value import map_value
from sparkdl.spark.jobs.user_code import digest_code, pickle_value

LARGE = 16 << 20  # bytes of a value's arrays
LEFT = {}  # {file: weak reference of the JVM}, of broadcasts that a driver's Python has let go of
OPEN = WeakKeyDictionary()  # {broadcast: its value}, in the process of a task


class LocalValue(NamedTuple):
    """A SharedValue in a process that Spark does not know."""

    value: Any

    @property
    def kept_value(self):
        """The value; see SharedValue."""
        return self.value


def open_shared(rest, arrays):
    """Returns the LocalValue of what a broadcast carries; ConfigError where a module is missing."""
    try:
        return LocalValue(cloudpickle.loads(rest, buffers=arrays))
    except (AttributeError, ImportError) as error:
        why = f"{type(error).__name__}: {error}"
        if not lacks_own_module(why):
            raise
        raise ConfigError(
            "what tasks are given (conf, transform, prepare) must be found on the executors, got "
            f"{why}{python_cure(why)}"
        ) from error


def broadcast(sc, value):
    """Returns the broadcast of a value that can be pickled; DataError where the disk is full."""
    made = Broadcast.__new__(Broadcast)  # one that fails knows its file, too
    remove_left()
    try:
        Broadcast.__init__(made, sc, value, sc._pickled_broadcast_vars)
        in_jvm = sc._jvm.java.lang.ref.WeakReference(made._jbroadcast)
        finalize(made, LEFT.__setitem__, made._path, in_jvm).atexit = False
        return made
    except Exception as error:  # of pickle's own, which says of an OSError what it said
        remove_file(vars(made).get("_path"))
        if os.strerror(errno.ENOSPC) not in str(error):
            raise
        raise DataError(
            f"{sc._temp_dir} on the driver: must take what tasks are given, got: {error}; make "
            "room there, or let Spark use another folder (spark.local.dir)"
        ) from error


def remove_file(path):
    """Removes what a broadcast has written; its room is free at once, though it is open still."""
    if path is not None:
        with suppress(OSError):
            os.truncate(path, 0)
            Path(path).unlink()


def remove_left():
    """Removes files of broadcasts that no DataFrame needs; Spark keeps them until it stops."""
    for path, in_jvm in LEFT.copy().items():
        if not is_needed(in_jvm):
            LEFT.pop(path, None)  # which another thread may have done
            remove_file(path)


def is_needed(in_jvm):
    """Returns whether anything in the JVM refers to what a weak reference of it leads to."""
    try:
        return in_jvm.get() is not None
    except Py4JError:  # that JVM is gone
        return False


def encrypts(sc):
    """Returns whether Spark encrypts what it writes to disks, as files of ours are not."""
    return sc._encryption_enabled


def copy_bytes(array):
    """Returns the bytes of a PickleBuffer, which has no length, as those who encrypt ask for."""
    with array.raw() as raw:
        return raw.tobytes() if raw.readonly else bytearray(raw)


class SharedValue:
    """A value that is sent to each executor once, however many tasks run there.

    Spark frees it once neither this nor a DataFrame or RDD refers to it. Its `unpersist` would not
    do for what is computed later: it deletes the files that an executor still knows the names of.
    """

    def __init__(self, sc, value):
        rest, arrays = pickle_value(value)
        self._code = digest_code(rest)
        large = sum(array.raw().nbytes for array in arrays) >= LARGE
        is_encrypted = encrypts(sc)
        self._name = uuid.uuid4().hex if large and not is_encrypted else None
        if is_encrypted:
            arrays = [copy_bytes(array) for array in arrays]
        self._broadcast = broadcast(sc, (rest, arrays))

    @property
    def value(self):
        """On an executor: the value, its arrays read-only."""
        return open_shared(*self._broadcast.value).value

    @property
    def kept_value(self):
        """On an executor: the value, one object for all tasks of a process; none may change it.

        The processes of an executor share the memory of large arrays.
        """
        if self._broadcast not in OPEN:
            OPEN[self._broadcast] = self.value if self._name is None else self._map()
        return OPEN[self._broadcast]

    def _map(self):
        rest, *arrays = map_value(local_disks()[0], self._name, self._parts)
        vars(self._broadcast).pop("_value", None)  # this process's own copy
        return open_shared(rest, arrays).value

    def _parts(self):
        rest, arrays = self._broadcast.value
        return [rest, *arrays]

    def has_code_of(self, value):
        """Returns whether a value that is else the one shared has the code that was sent, too.

        Where a user's code is pickled with it, that may have changed since.
        """
        return self._code is None or self._code == digest_code(pickle_value(value)[0])

    def to_local(self):
        """Returns the pickled form for a process unknown to Spark: there it is a LocalValue."""
        return open_shared, self._broadcast.value

    def destroy(self):
        """Frees it everywhere; no task may need it any more."""
        self._broadcast.destroy()


@contextmanager
def sharing(sc, value):
    """Shares a value as a SharedValue that lives for one job."""
    shared = SharedValue(sc, value)
    try:
        yield shared
    finally:
        shared.destroy()
