"""Networks with tables of ids on Spark: workers hold them whole or sharded by rows."""

import numpy as np
import psutil
import pytest
from pyspark.sql import functions as F

from sparkdl import AdaGrad, AllReduceSGD, EmbeddingBag, GraphConf, SparkNetwork
from sparkdl.nn import Merge, Output, Vertex
from sparkdl.training.saving.stored_tables import read_tables
from sparkdl.training.workers.base import MORE_SLOTS
from tests.spark.slow import Fault, Trap, executor_of
from tests.support.waiting import gone, until

FAR, COUNT, PARTITIONS, EPOCHS = 2**53 + 1, 90, 3, 3
MASTER = {"batch_size_per_worker": 5, "updates_per_round": 3, "snapshot_every": 2, "prefetch": 0}
FAST = {"batch_size_per_worker": 5, "updates_per_round": 9}
CALLS = 6  # minibatches per round of two workers
RARE = {"min_updates": 2, "expire_after": 5}  # options for words, some of which are rare


def network():
    bags = [
        EmbeddingBag(name="words", dimension=4, width=3, combine="mean", **RARE),
        EmbeddingBag(name="user", dimension=2),
    ]
    vertices = [
        Vertex(name="all", layer=Merge(), inputs=("words", "user")),
        Vertex(name="out", layer=Output(units=2), inputs="all"),
    ]
    return GraphConf(bags=bags, vertices=vertices, optimizer=AdaGrad(learning_rate=0.1), seed=3)


def rows():
    rng = np.random.default_rng(5)
    users = FAR + rng.integers(0, 9, COUNT)
    words = rng.zipf(1.5, (COUNT, 3)) - 2
    return [(int(u), w.tolist(), int(u % 2)) for u, w in zip(users, words)]


@pytest.fixture
def frame(spark):
    schema = "user long, words array<long>, label int"
    return spark.createDataFrame(spark.sparkContext.parallelize(rows(), PARTITIONS), schema)


def fit(frame, tables, workers=2, table_folder=None, **options):
    master = AllReduceSGD(tables=tables, workers=workers, table_folder=table_folder, **MASTER)
    net = SparkNetwork(frame.sparkSession.sparkContext, network(), master)
    return net, net.fit(frame, epochs=EPOCHS, validation=frame, **options)


def rows_by_id(net, table):
    arrays = read_tables(net.network.state.tables)
    order = np.argsort(arrays[f"{table}/ids"])
    return {
        name: of.reshape(len(order), -1)[order]
        for name, of in arrays.items()
        if name.rpartition("/")[0] == table
    }


def assert_same_bits(one, two):
    np.testing.assert_array_equal(one.network.state.params, two.network.state.params)
    for table in ("words", "words/seen", "user"):
        found, expected = rows_by_id(one, table), rows_by_id(two, table)
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name])


def assert_rare_words_have_no_rows(net):
    tables = read_tables(net.network.state.tables)
    kept, seen = (set(tables[f"{name}/ids"].tolist()) for name in ("words", "words/seen"))
    every = {word for _, words, _ in rows() for word in words}
    assert kept < every and seen - kept
    last = tables["words/last"]
    assert last.max() - last.min() < 2 * RARE["expire_after"]


WAYS = {
    "a worker a slot": (2, False),
    "a worker a slot, in files": (2, True),
    "more workers than slots, in files": (5, True),
    "more workers than slots": (5, False),
}


@pytest.mark.parametrize("way", WAYS)
def test_sharded_tables_have_the_bits_of_whole_ones(way, frame, tmp_path):
    workers, in_files = WAYS[way]
    expected, before = fit(frame, "whole", workers)
    net, history = fit(frame, "sharded", workers, str(tmp_path) if in_files else None)
    assert bool(list(tmp_path.iterdir())) == in_files
    assert_same_bits(net, expected)
    assert_rare_words_have_no_rows(net)
    assert [epoch.examples for epoch in history.epochs] == [COUNT] * EPOCHS
    losses = [[epoch.validation.loss for epoch in h.epochs] for h in (history, before)]
    assert losses[0] == losses[1] and losses[0][-1] < losses[0][0]
    predicted = [row.asDict() for row in net.predict(frame).orderBy("user", "words").collect()]
    others = expected.predict(frame).orderBy("user", "words").collect()
    assert predicted == [row.asDict() for row in others]
    if in_files and workers == 2:
        later = net.predict(frame).orderBy("user", "words")
        net.fit(frame, epochs=1)
        assert predicted == [row.asDict() for row in later.collect()]


LOSSES = {"its process": psutil.Process.kill, "its executor": lambda one: executor_of(one).kill()}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_killed_owner_of_rows_costs_no_bits(loss, tmp_path, frame):
    folder = tmp_path / "rows" if loss == "its executor" else None
    expected, _ = fit(frame, "whole")
    trap = Trap(str(tmp_path), after=2 * CALLS)
    fault = Fault(trap, LOSSES[loss])
    fault.start()
    net, history = fit(frame, "sharded", table_folder=folder and str(folder), transform=trap)
    [restart, *moves] = history.restarts
    assert {move.reason for move in moves} <= {MORE_SLOTS}
    assert restart.lost <= MASTER["snapshot_every"]
    assert until(lambda: gone(fault.victim))
    assert_same_bits(net, expected)


def test_a_bag_alone_reads_its_column_under_names_of_records_too(frame):
    """Record ids and file names are not columns, so columns may be called "ids" and "file"."""
    bags = [EmbeddingBag(name="user", column="ids", dimension=2)]
    vertices = [Vertex(name="out", layer=Output(units=2), inputs="user")]
    conf = GraphConf(bags=bags, vertices=vertices, optimizer=AdaGrad(learning_rate=0.5), seed=3)
    both = EmbeddingBag(name="file", dimension=2), EmbeddingBag(name="ids", dimension=2)
    every = Vertex(name="all", layer=Merge(), inputs=("file", "ids"))
    out = Vertex(name="out", layer=Output(units=2), inputs="all")
    two = GraphConf(bags=both, vertices=[every, out], optimizer=AdaGrad(learning_rate=0.5), seed=3)
    users = frame.withColumnRenamed("user", "ids").withColumn("file", F.col("ids") + 1)
    for each in (conf, two):
        net = SparkNetwork(frame.sparkSession.sparkContext, each, AllReduceSGD(workers=2, **FAST))
        net.fit(users, epochs=5)
        rows, given = net.predict(users, keep=["label"]).collect(), users.toPandas()
        x = {name: given[name].to_numpy()[:, None] for name in each.record_shapes}
        own = np.array([row.probability for row in rows])
        np.testing.assert_allclose(own, net.network.predict(x), rtol=1e-5)
        assert (own.argmax(1) == [row.label for row in rows]).mean() > 0.9
        assert net.evaluate(users).accuracy > 0.9
