"""With one minibatch a round and plain SGD, averaging equals training on the joint batch."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.data.batches.dealing import assemble_block
from sparkdl.nn.execution.replica import Replica
from sparkdl.spark import SparkNetwork, SparkWorkers
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.fit.network_fit import with_seed
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from tests.spark.networks import data, plain

ROUNDS, BATCH = 20, 4
PARTITIONS = {
    "even": [20, 20, 20],
    "uneven": [3, 41, 16],
    "empty": [0, 33, 0, 0, 27, 0],
    "one record": [1, 0, 59],
}


def partitioned(sc, sizes, n=60):
    """Returns an RDD of pairs with partitions of these sizes."""
    records = list(zip(*data(n)))
    bounds = np.cumsum([0, *sizes])
    parts = [records[start:stop] for start, stop in pairwise(bounds)]
    return sc.parallelize(parts, len(parts)).flatMap(lambda part: part)


def blocks_of(sc, conf, master, rdd):
    """Returns a fit's blocks, and a function from an epoch to the block numbers of its rounds."""
    workers, state = SparkWorkers(sc, master.workers), Network(conf).state
    size, options = master.records_per_block, with_seed(master, state)
    blocks = workers.load(SparkRecords(rdd), schema_of(conf), size, options)
    parts = blocks.rdd.glom().collect()
    blocks.close()
    contents = [assemble_block([piece for _, piece in part]) for part in parts]
    return contents, lambda epoch: master.plan(workers, blocks, replace(state, epoch=epoch))


def joint(conf, contents, plan, epochs):
    """Returns the weights of one process that makes a plain step on all records of each round."""
    replica = Replica(conf)
    for epoch in range(epochs):
        for t, chosen in enumerate(plan(epoch)):
            batch = Batch.concat([contents[number] for number in chosen])
            replica.step(batch, conf.optimizer.rate_at(t, epoch), t + 1)
    return replica.params


@pytest.mark.parametrize(
    "workers, partitions",
    [(1, "empty"), (2, "even"), (2, "one record"), (3, "uneven")],
)
def test_weights_are_those_of_one_process_with_the_joint_batch(workers, partitions, sc):
    conf, rdd = plain(), partitioned(sc, PARTITIONS[partitions])
    options = {"batch_size_per_worker": BATCH, "averaging_frequency": 1, "workers": workers}
    master = ParameterAveraging(aggregation="driver", repartition="never", **options)
    contents, plan = blocks_of(sc, conf, master, rdd)
    epochs = -(-ROUNDS // len(plan(0)))
    net = SparkNetwork(sc, conf, master)
    history = net.fit(rdd, epochs=epochs)
    expected = joint(conf, contents, plan, epochs)
    assert len(history.rounds) >= ROUNDS
    np.testing.assert_allclose(net.network.state.params, expected, rtol=1e-5, atol=1e-6)
    assert abs(expected - Network(conf).state.params).max() > 0.1


@pytest.mark.parametrize("repartition", ["always", "uneven", "never"])
def test_blocks_hold_every_record_once(repartition, sc):
    master = ParameterAveraging(batch_size_per_worker=BATCH, workers=2, repartition=repartition)
    contents, plan = blocks_of(sc, plain(), master, partitioned(sc, PARTITIONS["empty"]))
    x, y = data()
    found = np.concatenate([block.features for block in contents])
    labels = np.concatenate([block.labels for block in contents])
    order, own = np.lexsort(found.T), np.lexsort(x.T)
    np.testing.assert_array_equal(found[order], x[own])
    np.testing.assert_array_equal(labels[order], y[own])
    assert sorted(number for chosen in plan(0) for number in chosen) == list(range(len(contents)))
    assert plan(0) != plan(1)


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_records_than_workers_are_all_trained(n, sc):
    net = SparkNetwork(sc, plain(), ParameterAveraging(workers=3))
    history = net.fit(sc.parallelize(list(zip(*data(n))), 4), epochs=3)
    assert [epoch.examples for epoch in history.epochs] == [n, n, n]
