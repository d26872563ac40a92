"""Attributes computed on first use: once, and those of two objects at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from sparkdl.cached_value import cached_value
from sparkdl.data.readers.text_files.text_sequences import TextSequences
from sparkdl.spark.records.blocks import SparkBlocks
from sparkdl.spark.records.validation_records import ValidationRecords
from sparkdl.training.network import Network

SLOW = {SparkBlocks: "rdd", ValidationRecords: "opened", Network: "replica"}
SLOW |= {TextSequences: "alphabet"}


class Counter:
    count = 0

    @cached_value
    def value(self):
        """The number of computations so far."""
        self.count += 1
        return self.count


def test_a_value_is_computed_once_and_kept_with_its_object():
    one, other = Counter(), Counter()
    assert "value" not in vars(one)
    assert [one.value, one.value, other.value] == [1, 1, 1]
    assert vars(one) == {"count": 1, "value": 1}
    del one.value
    assert one.value == 2
    assert Counter.value.__doc__ == "The number of computations so far."


@pytest.mark.parametrize("kind", SLOW, ids=lambda kind: kind.__name__)
def test_slow_values_of_two_objects_are_computed_at_once(kind, monkeypatch):
    both = Barrier(2)
    monkeypatch.setattr(vars(kind)[SLOW[kind]], "func", lambda one: both.wait(20))
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda one: getattr(one, SLOW[kind]), map(object.__new__, [kind] * 2))
        assert sorted(found) == [0, 1]
