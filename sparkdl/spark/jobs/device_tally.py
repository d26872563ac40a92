"""Tally of the devices that tasks have computed on, a Spark accumulator."""

from collections import Counter

from pyspark.accumulators import AccumulatorParam


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
        self._counts = sc.accumulator(Counter(), Counts())

    def add(self, device):
        """Records, in a task, the device that it computes on."""
        self._counts.add(Counter([device]))

    @property
    def devices(self):
        """On the driver: {device: tasks}."""
        return dict(self._counts.value)
