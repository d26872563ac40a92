"""Sources as DataFrames: what the pass that reads computes equals what their frame gives."""

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException

from sparkdl.data import HDF5, Arrays, Csv, Parquet, Scale
from sparkdl.errors import ConfigError
from sparkdl.nn import (
    LSTM,
    EmbeddingBag,
    GraphBuilder,
    GraphConf,
    Merge,
    NetworkConf,
    Output,
    Vertex,
)
from sparkdl.spark import SparkNetwork
from sparkdl.spark.inference.predictions import layer_parts, prediction_parts
from sparkdl.spark.records.source_frame import as_frame
from tests.spark.networks import data, rich

ROWS = 26
HALF = Scale(factor=0.5)


def csv(folder, x, y, **options):
    lines = [",".join(map(str, [*row.tolist(), label])) for row, label in zip(x, y, strict=True)]
    (folder / "a.csv").write_text("\n".join(["a,b,c,d,e,f,label", *lines]))
    return Csv(str(folder), **options)


def parquet(folder, x, y, **options):
    names = [f"record {i}" for i in range(len(x))]
    columns = {"features": x.tolist(), "label": y, "name": names}
    pq.write_table(pa.table(columns), folder / "a.parquet", row_group_size=7)
    return Parquet(str(folder), **options)


SOURCES = {  # (function, options, columns beside the features)
    "csv": (csv, {}, ["id", "label"]),
    "csv, scaled": (csv, {"transform": HALF}, ["id", "label"]),
    "parquet": (parquet, {}, ["label", "name"]),
    "parquet, scaled": (parquet, {"transform": HALF}, ["label", "name"]),
    "arrays": (lambda _, x, y: Arrays(x, y), {}, ["id", "label"]),
    "arrays without labels": (lambda _, x, y: Arrays(x), {}, ["id"]),
}
PARTS = {
    "predictions": (prediction_parts, lambda net, frame: net.predict(frame)),
    "layers": (
        lambda _: layer_parts(["dense_1"]),
        lambda net, frame: net.features(frame, "dense_1"),
    ),
}


def passes(frame):
    """Returns how often the rows of a frame go through Python."""
    return frame._jdf.queryExecution().optimizedPlan().toString().count("MapInArrow")


@pytest.mark.parametrize("what", PARTS)
@pytest.mark.parametrize("name", SOURCES)
def test_one_pass_reads_and_computes(spark, tmp_path, name, what):
    make, options, kept = SOURCES[name]
    source = as_frame(spark, make(tmp_path, *data(ROWS), **options), rich())
    net, (parts_of, apart) = SparkNetwork(spark, rich()), PARTS[what]
    new, compute, layers = parts_of(net.conf)
    function = net.column_function(
        source.fields, source.column, None, new, compute, keep=kept, layers=layers
    )
    found, wanted = source.map(*function), apart(net, source.frame).drop(source.column)
    assert found.columns == wanted.columns == [*kept, *(field.name for field in new)]
    assert sorted(found.collect()) == sorted(wanted.collect()) and found.count() == ROWS
    assert passes(found) == 1


def test_the_fields_are_those_of_the_frame(spark, tmp_path):
    for number, (make, options, _) in enumerate(SOURCES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = as_frame(spark, make(folder, *data(ROWS), **options), rich())
        assert source.fields == source.frame.schema
        np.testing.assert_array_equal(len(source.frame.collect()), ROWS)


def test_several_inputs_are_no_column(spark):
    build = GraphBuilder(a=(2,), b=(2,))
    build.add(Merge(), "a", "b", name="both")
    build.add(Output(units=2), "both", name="out")
    x = np.zeros((3, 2), np.float32)
    source = Arrays({"a": x, "b": x}, np.zeros(3, np.int32))
    with pytest.raises(ConfigError, match=r"must have one input, got \['a', 'b'\]"):
        as_frame(spark, source, build.conf())


STEPS, LENGTHS = 5, np.array([5, 1, 3, 0, 2, 4] * 4)


def sequences():
    """Returns (conf, padded features, mask, the records without padding)."""
    rng = np.random.default_rng(0)
    layers = [LSTM(units=3, return_sequences=False), Output(units=2)]
    x = rng.normal(size=(len(LENGTHS), STEPS, 3)).astype(np.float32)
    mask = np.float32(np.arange(STEPS) < LENGTHS[:, None])
    own = [one[:length] for one, length in zip(x, LENGTHS, strict=True)]
    conf = NetworkConf(input_shape=(STEPS, 3), layers=layers, seed=1)
    return conf, x * mask[..., None], mask, own


def padded_arrays(folder, x, mask, own):
    return Arrays({"features": x, "mask": mask}, transform=HALF)


def padded_hdf5(folder, x, mask, own):
    with h5py.File(folder / "a.h5", "w") as file:
        file["features"], file["mask"] = x, mask
    return HDF5(str(folder / "a.h5"), columns={"features": "features", "mask": "mask"})


def uneven_parquet(folder, x, mask, own):
    pq.write_table(pa.table({"features": [one.tolist() for one in own]}), folder / "a.parquet")
    return Parquet(str(folder), label=None, transform=HALF)


@pytest.mark.parametrize("make", [padded_arrays, padded_hdf5, uneven_parquet])
def test_sequences_keep_their_lengths(spark, tmp_path, make):
    conf, x, mask, own = sequences()
    source = make(tmp_path, x, mask, own)
    frame = as_frame(spark, source, conf).frame
    halves = 0.5 if source.transform else 1
    for found, one in zip(frame.collect(), own, strict=True):
        np.testing.assert_array_equal(found.features, halves * one.ravel())
    net = SparkNetwork(spark, conf)
    rows = [(number, (halves * one).tolist()) for number, one in enumerate(own)]
    alone = spark.createDataFrame(rows, "n int, features array<array<float>>").coalesce(1)
    wanted = [row.probability for row in net.predict(alone).sort("n").collect()]
    found = [row.probability for row in net.predict(frame, transform=False).collect()]
    np.testing.assert_array_equal(found, wanted)


def test_large_ids_stay_what_they_are(spark):
    bags = [EmbeddingBag(name="features", dimension=2, width=2)]
    vertices = [Vertex(name="out", layer=Output(units=2), inputs="features")]
    conf = GraphConf(bags=bags, vertices=vertices)
    ids = np.array([[2**24 + 1, -1], [2**40 + 3, 5]])  # float32 cannot tell the large ones
    frame = as_frame(spark, Arrays(ids), conf).frame
    assert [row.features for row in frame.sort("id").collect()] == ids.tolist()


def test_a_mask_with_gaps_is_refused(spark):
    conf, x, mask, _ = sequences()
    mask[2] = 0, 1, 0, 0, 0
    with pytest.raises(PythonException, match="record 2: mask must have its zeros at the end"):
        as_frame(spark, Arrays({"features": x, "mask": mask}), conf).frame.collect()
