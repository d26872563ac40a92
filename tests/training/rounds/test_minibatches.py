"""Minibatches of a block."""

import time

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.nn import Dense, NetworkConf, Output, Sgd
from sparkdl.training.rounds.minibatches import minibatches, records, time_items
from sparkdl.training.rounds.round_part import RoundPart


def test_the_last_minibatch_is_smaller():
    layers = [Dense(units=3), Output(units=2)]
    conf = NetworkConf(input_shape=(1,), layers=layers, optimizer=Sgd(learning_rate=0.1))
    block = Batch.of(np.arange(5, dtype=np.float32)[:, None], np.zeros(5, int))
    order = np.array([4, 3, 2, 1, 0])
    made = list(minibatches(block, order, 2, None, conf))
    assert [batch.columns["features"].ravel().tolist() for batch in made] == [[4, 3], [2, 1], [0]]


@pytest.mark.parametrize(
    ("start", "stop", "expected"), [(0, None, [0, 1, 2, 3, 4]), (1, 2, [2, 3])]
)
def test_a_part_has_the_records_of_its_minibatches(start, stop, expected):
    part = RoundPart(0, 1, [0], start, stop, 5, True)
    assert list(range(5)[records(part, 2)]) == expected


def test_items_come_with_the_wait_for_them(monkeypatch):
    clock = iter([0.0, 3.0, 10.0, 11.0, 20.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert list(time_items(iter(["first", "second"]))) == [("first", 3.0), ("second", 1.0)]
