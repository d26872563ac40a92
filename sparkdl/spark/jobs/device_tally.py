"""Tally of the devices that tasks have computed on, which Spark adds up with their results."""

from collections import Counter

from pyspark.accumulators import AccumulatorParam


class Counts(AccumulatorParam):
    """Counters that are added."""

    def zero(self, value):
        return Counter()

    def addInPlace(self, one, other):
        one.update(other)
        return one


class DeviceTally:
    """The number of tasks that have computed on each device; those that failed do not count.

    Parameters
    ----------
    sc : SparkContext
    """

    def __init__(self, sc):
        self._counts = sc.accumulator(Counter(), Counts())

    def add(self, device):
        """Notes in a task that it computes on this device, in words."""
        self._counts.add(Counter([device]))

    @property
    def devices(self):
        """On the driver: {device: tasks}."""
        return dict(self._counts.value)
