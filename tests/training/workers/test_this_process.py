"""The worker in this process trains like one in a process of its own."""

from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.records.schema import Schema
from sparkdl.errors import NoRecords
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.workers.local import LocalWorkers
from sparkdl.training.workers.this_process import ThisProcess
from tests.training.models import assert_equal, small_conf

SCHEMA = Schema(features=(1,), labels="class", label_size=2)
OPTIONS = SimpleNamespace(repartition="uneven", seed=3)


@pytest.mark.slow
def test_its_weights_are_those_of_one_local_worker():
    rng = np.random.default_rng(0)
    data = Arrays(rng.normal(size=(50, 4)).astype(np.float32), rng.integers(0, 2, 50))
    options = {"batch_size_per_worker": 8, "averaging_frequency": 100, "workers": 1}
    master, states = ParameterAveraging(aggregation="driver", device="cpu", **options), []
    for workers in (LocalWorkers(1), ThisProcess()):
        network = Network(small_conf())
        history = network.fit(data, 2, master, workers)
        assert [epoch.examples for epoch in history.epochs] == [50, 50]
        states.append(network.state)
        workers.close()
    assert_equal(*states)


def test_records_in_the_order_of_their_ids_are_not_copied():
    data = Arrays(np.arange(6, dtype=np.float32)[:, None], np.zeros(6, int))
    blocks = ThisProcess().load(data, SCHEMA, 2, OPTIONS)
    assert blocks.sizes == [6]
    [split] = data.splits()
    [batch] = data.read(split)
    assert np.shares_memory(blocks.block.features, batch.features)


def test_no_records_are_refused():
    with pytest.raises(NoRecords):
        ThisProcess().load(Arrays(np.zeros((0, 1)), np.zeros(0, int)), SCHEMA, 2, OPTIONS)


def test_some_record_needs_a_weight_above_0():
    def load(*weights):
        columns = {"features": np.zeros((3, 1)), "weights": np.array(weights, np.float32)}
        data = Arrays(columns, np.zeros(3, int), records_per_split=1)
        return ThisProcess().load(data, SCHEMA, 2, OPTIONS)

    assert load(0, 0, 1e-30).sizes == [3]
    with pytest.raises(NoRecords, match="records to train on: the weight of each is 0"):
        load(0, 0, 0)
