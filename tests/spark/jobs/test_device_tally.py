"""Tallies of devices: each counts its own tasks, and all of a session share one accumulator."""

import gc
from functools import partial

from pyspark.accumulators import _accumulatorRegistry

from sparkdl.spark.jobs.device_tally import DeviceTally, counts_of


def count(tally, number):
    tally.add(f"device {number % 2}")


def test_each_counts_its_own_tasks(sc):
    one, other, none = (DeviceTally(sc) for _ in range(3))
    sc.parallelize(range(5), 2).foreach(partial(count, one))
    sc.parallelize(range(2), 2).foreach(partial(count, other))
    sc.parallelize(range(1), 1).foreach(partial(count, one))
    assert one.devices == {"device 0": 4, "device 1": 2}
    assert other.devices == {"device 0": 1, "device 1": 1}
    assert none.devices == {}


def test_tallies_leave_nothing_behind(sc):
    gc.collect()  # tallies of earlier tests
    tallies = [DeviceTally(sc)]
    counts, accumulators = counts_of(sc), len(_accumulatorRegistry)
    before = dict(counts.value)
    tallies += [DeviceTally(sc) for _ in range(5)]
    sc.parallelize(range(2), 1).foreach(partial(count, tallies[-1]))
    assert len(counts.value) == len(before) + 2
    del tallies
    gc.collect()
    assert counts.value == before and len(_accumulatorRegistry) == accumulators
