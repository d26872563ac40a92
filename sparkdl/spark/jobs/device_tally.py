"""Tally of the devices that tasks have computed on, a Spark accumulator."""

import uuid
from collections import Counter
from threading import Lock
from weakref import WeakKeyDictionary, finalize

from pyspark.accumulators import AccumulatorParam

_lock = Lock()
_counts = WeakKeyDictionary()  # {SparkContext: accumulator}, as PySpark forgets none


class Counts(AccumulatorParam):
    """Adds Counters, for an accumulator."""

    def zero(self, value):
        return Counter()

    def addInPlace(self, one, other):
        one.update(other)
        return one


class DeviceTally:
    """The number of tasks that have computed on each device; failed tasks do not count.

    Parameters
    ----------
    sc : SparkContext
    """

    def __init__(self, sc):
        self._counts, self._name = counts_of(sc), uuid.uuid4().hex
        finalize(self, forget, self._counts, self._name).atexit = False

    def add(self, device):
        """Records, in a task, the device that it computes on."""
        self._counts.add(Counter([(self._name, device)]))

    @property
    def devices(self):
        """On the driver: {device: tasks}."""
        counts = dict(self._counts.value)  # at once, as others may be added
        return {device: count for (name, device), count in counts.items() if name == self._name}


def counts_of(sc):
    """Returns the accumulator of all tallies of a SparkContext: {(tally, device): tasks}."""
    with _lock:
        if sc not in _counts:
            _counts[sc] = sc.accumulator(Counter(), Counts())
        return _counts[sc]


def forget(counts, name):
    """Removes the counts of a tally that nobody reads any more."""
    for key in list(counts.value):
        if key[0] == name:
            counts.value.pop(key, None)
