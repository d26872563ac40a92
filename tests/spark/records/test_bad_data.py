"""Unusable data is refused at once with one clear sentence, without a failed Spark job."""

import os
import threading
from functools import partial

import numpy as np
import pandas
import pytest
from pyspark.sql import SparkSession

from sparkdl.data import LMDB, Arrays, Batch, Parquet, write_lmdb
from sparkdl.errors import ConfigError, DataError, DivergedError, WorkerError
from sparkdl.nn import Sgd
from sparkdl.nn.schedules import MultiStepSchedule
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.saving.checkpoint import Checkpoints, load_checkpoint
from tests.spark.networks import arrays, data, plain
from tests.support.bus import told_all


@pytest.fixture
def net(spark):
    return SparkNetwork(spark, plain(), ParameterAveraging(batch_size_per_worker=5))


def pairs(number, features=None, label=None):
    """Makes an RDD of 30 pairs in 3 partitions, with pair `number` replaced."""

    def make(spark, folder):
        records = list(zip(*data(30)))
        x, y = records[number]
        records[number] = (x if features is None else features(x), y if label is None else label)
        return spark.sparkContext.parallelize(records, 3)

    return make


def with_nan(x):
    return np.where(np.arange(len(x)) == 4, np.nan, x)


def frame(schema="features array<float>, label int", number=None, value=None):
    """Makes a DataFrame of 30 records in 3 partitions; record `number` has `value` as features."""

    def make(spark, folder):
        x, y = data(30)
        rows = [[a, b] for a, b in zip(x.tolist(), y.tolist())]
        if number is not None:
            rows[number][0] = value
        return spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), schema)

    return make


def rows(spark, folder):
    return frame("pixels array<float>, label int")(spark, folder).rdd


def no_lmdb(spark, folder):
    (folder / "data.mdb").write_bytes(b"nothing of the kind" * 1000)
    return LMDB(str(folder))


def short_lmdb(spark, folder):
    x, y = data(3000)
    write_lmdb(str(folder / "lmdb"), [Batch.of(x, y)])
    with open(folder / "lmdb" / "data.mdb", "r+b") as file:
        file.truncate(40_000)
    return LMDB(str(folder / "lmdb"))


def empty(spark, folder):
    return spark.sparkContext.emptyRDD()


def empty_partitions(spark, folder):
    return spark.sparkContext.parallelize([], 4)


def empty_frame(spark, folder):
    return frame()(spark, folder).where("label > 7")


def without_weight(spark, folder):
    x, y = data(30)
    return Arrays({"features": x, "weights": np.zeros(30, np.float32)}, y, records_per_split=10)


def on_spark(spark, folder):
    """A pandas-on-Spark DataFrame, which would run a job for its default index."""
    return frame()(spark, folder).pandas_api(index_col="label")


def a_list(spark, folder):
    return list(zip(*data(5)))


BAD = {
    "short features": (
        pairs(17, lambda x: x[:4]),
        "partition 1, record 7: features must have 6 numbers, got 4",
    ),
    "NaN": (pairs(29, with_nan), "partition 2, record 9: features must be finite, got nan at 4"),
    "label out of range": (pairs(3, label=3), r"partition 0, record 3: label must be in \[0, 3\)"),
    "label between": (pairs(3, label=0.5), "partition 0, record 3: label must be a whole number"),
    "no pair": (
        lambda spark, _: spark.sparkContext.parallelize([(1, 2, 3)], 1),
        "partition 0, record 0: must be a .features, label. pair, .* got tuple of 3",
    ),
    "short features in a frame": (
        frame(number=17, value=[1.0, 2.0]),
        "partition 1, record 7: column 'features' must have 6 numbers, got 2",
    ),
    "NaN in a frame": (
        frame(number=12, value=[float("nan")] * 6),
        "partition 1, record 2: features must be finite, got nan at 0",
    ),
    "null in a frame": (
        frame(number=12),
        "partition 1, record 2: column 'features' must have a value, got null",
    ),
    "text in a frame": (
        lambda spark, _: spark.createDataFrame([("a", 1)], "features string, label int"),
        "column 'features' must hold numbers, lists of numbers, vectors or binary, got string",
    ),
    "no such column": (
        frame("pixels array<float>, label int"),
        "the DataFrame: has no column 'features'; columns are .'pixels', 'label'.",
    ),
    "no such column in rows": (
        rows,
        "partition 0, record 0: has no column 'features'; columns are .'pixels', 'label'.",
    ),
    "no LMDB": (no_lmdb, "must be an LMDB, but does not begin like one; copy or convert it again"),
    "LMDB cut short": (short_lmdb, "lmdb: cut short, it must have [0-9]+ bytes, got 40000"),
    "no folder": (lambda *_: LMDB("/nowhere/lmdb"), "/nowhere/lmdb: there is no such LMDB"),
    "no Parquet": (lambda _, folder: Parquet(str(folder)), "must hold files that end in .parquet"),
    "no RDD at all": (empty, "there are no records"),
    "empty partitions": (empty_partitions, "there are no records"),
    "empty frame": (empty_frame, "there are no records"),
    "weights of 0": (without_weight, "there are no records to train on: the weight of each is 0"),
    "another kind of data": (
        a_list,
        "data must be an RDD, a DataFrame or a source such as LMDB.path., got list; arrays are a",
    ),
    "a frame of pandas on Spark": (
        on_spark,
        r"got pyspark\.pandas\.\S*DataFrame; make one that Spark has: df.to_spark\(\)",
    ),
    "features that are there twice": (
        lambda spark, folder: (
            frame()(spark, folder).toDF("features", "x").selectExpr("*", "features")
        ),
        "the DataFrame: column 'features' must be there once, got 2; rename or drop the others",
    ),
    "a frame of pandas": (
        lambda spark, _: pandas.DataFrame({"features": [0.0], "label": [1]}),
        r"got pandas\.\S*DataFrame; make one that Spark has: spark.createDataFrame\(df\)",
    ),
}
EVALUATED = [
    "a frame of pandas",
    "short features",
    "NaN in a frame",
    "LMDB cut short",
    "no RDD at all",
    "empty frame",
]
USES = {"fit": SparkNetwork.fit, "evaluate": SparkNetwork.evaluate}


@pytest.mark.parametrize(
    "case, use", [*((case, "fit") for case in BAD), *((case, "evaluate") for case in EVALUATED)]
)
def test_bad_data_is_refused(case, use, net, spark, sc, tmp_path):
    make, message = BAD[case]
    bad, before = make(spark, tmp_path), net.network.state
    sc.setJobGroup(f"{case} {use}", "")
    with pytest.raises((DataError, ConfigError)) as caught:
        USES[use](net, bad)
    caught.match(message)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
    assert set(ended(sc, f"{case} {use}")) <= {"SUCCEEDED"}
    assert net.network.state is before


def test_predictions_and_features_are_of_data_that_spark_has(net, spark, tmp_path):
    make, message = BAD["a frame of pandas"]
    for use in (net.predict, partial(net.features, layers=[net.conf.stack[0].name])):
        with pytest.raises(ConfigError, match=message):
            use(make(spark, tmp_path))


def ended(sc, group):
    """Returns the final states of the Spark jobs in a group."""
    tracker = told_all(sc).statusTracker()
    return [tracker.getJobInfo(job).status for job in tracker.getJobIdsForGroup(group)]


def test_bad_validation_is_refused_before_training(net, spark, tmp_path):
    heard = []
    for case in ("no such column", "another kind of data", "no LMDB"):
        with pytest.raises((DataError, ConfigError), match=BAD[case][1]):
            net.fit(arrays(), validation=BAD[case][0](spark, tmp_path), listeners=heard)
    assert net.network.state.rounds == 0


class Unlucky(Exception):
    """An error with a two-line message and a name that does not end in Error."""


def divide(pair):
    return 1 / 0


def unlucky(pair):
    raise Unlucky("the disk\nis full")


def leave(pair):
    os._exit(3)


FUNCTIONS = {
    "division": (divide, "reading the data failed on the cluster: ZeroDivisionError: division by"),
    "own exception": (unlucky, "reading the data failed on the cluster: .*Unlucky: the disk"),
    "exit": (leave, "reading the data failed on the cluster: Python worker exited unexpectedly"),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_a_failing_function_of_the_user_is_named(case, net, sc):
    function, message = FUNCTIONS[case]
    with pytest.raises(WorkerError, match=message) as caught:
        net.fit(sc.parallelize(list(zip(*data(4))), 1).map(function))
    assert "\n" not in str(caught.value)
    assert sc._jsc.getPersistentRDDs().isEmpty()


@pytest.mark.parametrize(
    "aggregation, start", [("driver", "a round failed .*: "), ("peers", "worker [01]: ")]
)
def test_a_failing_transform_is_named(spark, aggregation, start):
    master = ParameterAveraging(batch_size_per_worker=5, aggregation=aggregation)
    with pytest.raises(WorkerError, match=f"{start}ZeroDivisionError: division by zero"):
        SparkNetwork(spark, plain(), master).fit(Arrays(*data(10), transform=divide))


def test_a_transform_of_a_script_reaches_the_executors(net):
    """A function that belongs to no module, like those of notebooks."""
    factor = 0.5
    scaled = Arrays(*data(20), transform=lambda b: b.replace(features=b.features * factor))
    same = Arrays(data(20)[0] * np.float32(factor), data(20)[1])
    other = SparkNetwork(net.sc, net.conf, net.master)
    net.fit(scaled)
    other.fit(same)
    np.testing.assert_array_equal(net.network.state.params, other.network.state.params)


def test_a_transform_that_cannot_travel_is_refused(net):
    lock = threading.Lock()
    with pytest.raises(ConfigError, match="must travel to the executors.*lock"):
        net.fit(Arrays(*data(20), transform=lambda batch: lock and batch))


def test_divergence_names_the_round_and_the_last_checkpoint(sc, tmp_path):
    leap = Sgd(
        learning_rate=MultiStepSchedule(initial=0.1, gamma=1e30, steps=(8,), per="iteration")
    )
    net = SparkNetwork(sc, plain(optimizer=leap, l2=0.1), master_of(workers=2))
    checkpoints = Checkpoints(path=str(tmp_path), every_rounds=1)
    message = (
        r"loss .* in epoch 0, round [45]: training has diverged; .*; "
        rf"the last good checkpoint is {tmp_path}/round-0000000[45]"
    )
    with pytest.raises(DivergedError, match=message) as caught:
        net.fit(arrays(120), epochs=3, checkpoints=checkpoints)
    path = str(caught.value).rpartition(" ")[2]
    assert np.isfinite(load_checkpoint(path)[1].params).all()
    assert net.network.state.rounds == 0


def master_of(**options):
    return ParameterAveraging(
        **{"aggregation": "driver", "batch_size_per_worker": 3, "averaging_frequency": 2} | options
    )


REFUSED = {
    "sc": (lambda sc: SparkNetwork("sc", plain()), "sc must be a SparkContext or SparkSession"),
    "conf": (
        lambda sc: SparkNetwork(sc, {"layers": []}),
        "conf must be a NetworkConf, GraphConf, Network, Recipe or path of a solver file, got",
    ),
    "a module": (
        lambda sc: SparkNetwork(sc, type("Linear", (), {"__module__": "torch.nn"})()),
        "conf must be a NetworkConf, .*, got Linear; give read_module.*network or TorchModel of",
    ),
    "tm": (lambda sc: SparkNetwork(sc, plain(), "sgd"), "tm must be a TrainingMaster, got str"),
    "epochs": (
        lambda sc: SparkNetwork(sc, plain()).fit(arrays(), epochs=0),
        "epochs must be an integer >= 1, got 0",
    ),
    "storage level": (
        lambda sc: SparkNetwork(sc, plain(), master_of(storage_level="RAM")).fit(arrays()),
        "storage_level must be one of .*'MEMORY_AND_DISK'.*, got 'RAM'",
    ),
    "existing column": (
        lambda sc: SparkNetwork(sc, plain()).predict(existing(sc)),
        "must not have the columns .'Prediction'. yet; rename or drop them",
    ),
}


def existing(sc):
    return frame("features array<float>, Prediction int")(SparkSession.builder.getOrCreate(), None)


@pytest.mark.parametrize("case", REFUSED)
def test_options_that_cannot_work_are_refused(case, sc):
    call, message = REFUSED[case]
    with pytest.raises(ConfigError, match=message):
        call(sc)
