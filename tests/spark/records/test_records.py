"""Every kind of data trains to the same weights and gives the same predictions.

All kinds hold the same records in the same two partitions, so an example has the same id in each.
"""

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse
from pyspark.ml import linalg as ml
from pyspark.mllib import linalg as mllib
from pyspark.mllib.regression import LabeledPoint
from pyspark.sql import DataFrame, Row, SparkSession

from sparkdl.data import LMDB, Arrays, Batch, Csv, Images, Parquet, SequenceFiles, write_lmdb
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import Dense, Output
from sparkdl.spark import SparkNetwork
from sparkdl.spark.records import locality
from sparkdl.spark.records.kept_data import clear_kept_data
from sparkdl.spark.records.records import require_own_names
from sparkdl.spark.records.source_frame import as_frame
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from tests.data.sources import KINDS as SOURCES
from tests.spark.networks import FEATURES, conf_of, rich
from tests.training.models import assert_equal

MASTER = ParameterAveraging(
    aggregation="driver", batch_size_per_worker=6, averaging_frequency=2, workers=2
)
HALF = 13


def records():
    """Features (26, 6) of whole numbers, which bytes can hold, and labels (26,)."""
    rng = np.random.default_rng(3)
    return rng.integers(0, 4, (2 * HALF, FEATURES)), rng.integers(0, 3, 2 * HALF)


def shown(example):
    """The displayed parts of a WrongExample, without its location."""
    return example.truth, example.prediction, example.text


def rdd_of(features, label=int, record=lambda x, y: (x, y)):
    """Makes an RDD of `record(features(x), label(y))`."""

    def make(sc, folder):
        x, y = records()
        return sc.parallelize([record(features(a), label(b)) for a, b in zip(x, y)], 2)

    return make


def frame_of(features, schema="id int, features array<double>, label int"):
    """Makes a DataFrame with features, label, and an extra id column."""

    def make(sc, folder):
        x, y = records()
        rows = [(i, features(a), int(b)) for i, (a, b) in enumerate(zip(x, y))]
        return SparkSession.builder.getOrCreate().createDataFrame(sc.parallelize(rows, 2), schema)

    return make


def arrays_source(sc, folder):
    x, y = records()
    return Arrays(x.astype(np.float32), y, records_per_split=HALF)


def lmdb_source(sc, folder):
    x, y = records()
    write_lmdb(str(folder / "lmdb"), [Batch.of(x.astype(np.uint8), y)])
    return LMDB(str(folder / "lmdb"), records_per_split=HALF)


def parquet_source(sc, folder):
    x, y = records()
    table = pyarrow.table({"features": list(x.astype(np.float32)), "label": y})
    pyarrow.parquet.write_table(table, folder / "a.parquet", row_group_size=HALF)
    return Parquet(str(folder))


def halves():
    """[(number, features uint8 (13, 6), labels (13,))] of the partitions."""
    x, y = records()
    return [
        (i, x[s].astype(np.uint8), y[s]) for i, s in enumerate([slice(HALF), slice(HALF, None)])
    ]


def several_lmdbs(sc, folder):
    paths = [str(folder / f"lmdb-{i}") for i, *_ in halves()]
    for i, x, y in halves():
        write_lmdb(paths[i], [Batch.of(x, y)])
    return LMDB(paths)


def of_files(source, encode):
    """Makes a source of two files whose bytes are encode(x, y)."""

    def make(sc, folder):
        for i, x, y in halves():
            (folder / f"part-{i}.h5").write_bytes(encode(x, y))
        return source(str(folder))

    return make


def image_source(sc, folder):
    x, y = records()
    for i, one in enumerate(x.astype(np.uint8)):
        (folder / f"{i}.png").write_bytes(encode_image(one.reshape(3, 1, 2)))
    lines = [f"{i}.png {label}" for i, label in enumerate(y)]
    (folder / "list").write_text("\n".join(lines))
    return Images(str(folder), list_file=f"{folder}/list", records_per_split=HALF)


def of_kind(name):
    """Makes the source with this name in the table of tests/data."""
    return of_files(SOURCES[name].source, SOURCES[name].encode)


def csv_of(x, y):
    rows = [",".join(map(str, [*one.tolist(), label])) for one, label in zip(x, y)]
    return "\n".join(["a,b,c,d,e,f,label", *rows]).encode()


def floats(x):
    return [float(a) for a in x]


def sparse(module):
    return lambda x: module.Vectors.sparse(FEATURES, [(i, float(a)) for i, a in enumerate(x) if a])


def mixed(x):
    return ml.Vectors.dense(x) if x[0] else sparse(ml)(x)


def struct(x):
    """A vector as files of ORC and JSON without Spark's schema give it."""
    if x[0]:
        return 1, None, None, floats(x)
    return 0, FEATURES, np.flatnonzero(x).tolist(), floats(x[x != 0])


def labelled_point(x, y):
    return LabeledPoint(y, x)


def row(x, y):
    return Row(label=y, features=x)


KINDS = {
    "pairs of numpy arrays": rdd_of(np.asarray),
    "pairs of lists": rdd_of(floats, np.float64),
    "pairs of scipy rows": rdd_of(scipy.sparse.csr_matrix),
    "pairs of ml vectors": rdd_of(mixed, float),
    "pairs of mllib vectors": rdd_of(sparse(mllib)),
    "pairs with one-hot labels": rdd_of(np.float32, lambda y: np.eye(3)[y]),
    "rows": rdd_of(floats, record=row),
    "labelled points": rdd_of(floats, record=labelled_point),
    "frame of arrays": frame_of(floats),
    "frame of vectors": frame_of(mixed, ["id", "features", "label"]),
    "frame of structs": frame_of(
        struct,
        "id int, features struct<type: byte, size: int, indices: array<int>, values: "
        "array<double>>, label int",
    ),
    "frame of bytes": frame_of(lambda x: bytes(x.tolist()), "id int, features binary, label int"),
    "arrays": arrays_source,
    "LMDB": lmdb_source,
    "several LMDBs": several_lmdbs,
    "images": image_source,
    "CSV": of_files(Csv, csv_of),
    "SequenceFiles": of_kind("SequenceFiles of blocks"),
    "Avro": of_kind("AvroFiles"),
    "TFRecords": of_kind("TFRecords"),
    "HDF5": of_kind("HDF5"),
    "Parquet": parquet_source,
}


@pytest.fixture(scope="module")
def expected():
    """A network trained on this machine, on the same records."""
    net = Network(rich())
    net.fit(arrays_source(None, None), epochs=2, master=MASTER)
    return net


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_data(kind, expected, spark, sc, tmp_path):
    data = KINDS[kind](sc, tmp_path)
    net = SparkNetwork(spark, rich(), MASTER)
    net.fit(data, epochs=2)
    assert_equal(net.network.state, expected.state)
    x, y = records()
    evaluation = expected.evaluate((x, y))
    found = net.evaluate(data)
    assert found.confusion.tolist() == evaluation.confusion.tolist()
    assert [shown(one) for one in found.wrong] == [shown(one) for one in evaluation.wrong]
    assert net.score(data) == pytest.approx(evaluation.loss)
    probabilities, hidden = expected.predict(x), expected.features(x, ["dense_1"])["dense_1"]
    found, features = predicted(net, data)
    np.testing.assert_allclose(found, probabilities, rtol=1e-6)
    np.testing.assert_allclose(features, hidden, rtol=1e-6, atol=1e-6)


SHARED = {"weights of rounds": MASTER, "weights of workers that stay": AllReduceSGD(workers=2)}


@pytest.mark.parametrize("master", SHARED.values(), ids=SHARED)
def test_small_files_that_share_a_task(master, spark, tmp_path, monkeypatch):
    """Weights and predictions are those of a task for each file, bit for bit."""
    x, y = records()
    for i in range(len(x)):
        (tmp_path / f"{i:02}.csv").write_bytes(csv_of(x[i : i + 1], y[i : i + 1]))
    data, found = Csv(str(tmp_path)), []
    for fewest, tasks in {256: 26, 6: 6}.items():
        monkeypatch.setattr(locality, "FEWEST_TASKS", fewest)
        clear_kept_data(spark)
        net = SparkNetwork(spark, rich(), master)
        history = net.fit(data, epochs=2, validation=data)
        assert net.predict(data).getNumPartitions() == tasks
        assert as_frame(spark, data, rich()).frame.rdd.getNumPartitions() == tasks
        ids = [row.id for row in as_frame(spark, data, rich()).frame.collect()]
        assert ids == [i << 40 for i in range(26)]
        losses = [epoch.validation.loss for epoch in history.epochs]
        found.append((net.network.state, losses, net.predict(data).collect(), net.evaluate(data)))
    (one, losses, outputs, figures), (other, *others, again) = found
    assert_equal(one, other)
    assert losses == pytest.approx(others[0])
    np.testing.assert_array_equal(outputs, others[1])
    assert figures.confusion.tolist() == again.confusion.tolist()
    assert figures.loss == pytest.approx(again.loss)


def test_the_first_broken_file_of_a_task_is_named(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(locality, "FEWEST_TASKS", 2)
    x, y = records()
    for i in range(8):
        (tmp_path / f"{i}.csv").write_bytes(csv_of(x[:3], y[:3] + (100 if i in (2, 3, 6) else 0)))
    for use in ("fit", "evaluate"):
        with pytest.raises(DataError, match=rf"^{tmp_path}/2.csv, .*record 0: label must be"):
            getattr(SparkNetwork(spark, rich(), MASTER), use)(Csv(str(tmp_path)))


def predicted(net, data):
    """Returns probabilities and a layer's features, from an RDD or a DataFrame."""
    predictions, features = net.predict(data), net.features(data, "dense_1")
    if not isinstance(data, DataFrame):
        return predictions.collect(), [record["dense_1"] for record in features.collect()]
    rows = predictions.collect()
    probabilities = np.array([row.probability for row in rows])
    assert [row.prediction for row in rows] == probabilities.argmax(axis=1).tolist()
    return probabilities, [row.dense_1 for row in features.collect()]


def test_other_columns(spark):
    x, y = records()
    rows = [(floats(a), int(b)) for a, b in zip(x, y)]
    frame = spark.createDataFrame(rows, "pixels array<float>, digit int")
    net = SparkNetwork(spark, rich())
    options = {"features": "pixels", "label": "digit"}
    net.fit(frame, validation=frame, **options)
    assert net.evaluate(frame, **options).examples == len(x)
    assert net.predict(frame, features="pixels").count() == len(x)


def test_features_may_be_their_own_labels(spark):
    x, _ = records()
    frame = spark.createDataFrame([(floats(a),) for a in x], "features array<float>")
    conf = conf_of([Dense(units=2), Output(units=FEATURES, loss="mse")])
    history = SparkNetwork(spark, conf).fit(frame, label="features")
    assert history.epochs[0].examples == len(x)


CURES = [
    (Parquet("x", label=None), "label", r"name it in Parquet\(label=\.\.\.\)"),
    (Csv("x"), "features", r"name it in Csv\(features=\.\.\.\)"),
    (Csv("x", features=["a"]), "features", r"name it in Csv\(features=\.\.\.\)"),
    (SequenceFiles("x"), "label", "leave it out"),
    (Arrays(np.ones((2, 3)), np.zeros(2)), "features", "leave it out"),
    (Arrays(np.ones((2, 3)), np.zeros(2)), "label", "leave it out"),
]


@pytest.mark.parametrize("source, option, cure", CURES)
def test_columns_beside_a_source_are_named_in_it_where_it_takes_names(source, option, cure):
    """Others were told to give Arrays(features=...), which are numbers."""
    with pytest.raises(ConfigError, match=f"got 'amount'; {cure}$"):
        require_own_names(source, {option: "amount"})
