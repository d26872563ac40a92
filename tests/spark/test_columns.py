"""Sequences, several inputs, example weights and crops: the weights equal local training's."""

from functools import partial

import numpy as np
import pyarrow.parquet
import pytest
from pyspark.sql import Row, SparkSession

from sparkdl.data import (
    Arrays,
    Compose,
    Crop,
    Mirror,
    Parquet,
    RandomResizedCrop,
    ReshapeRecords,
    Rotate,
    Scale,
    pad,
)
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import Conv2D, Dense, LossLayer, NetworkConf, Output, RnnOutput
from sparkdl.nn.losses import SoftmaxCrossEntropy
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from tests.training.models import assert_equal
from tests.training.problems import branches

MASTER = ParameterAveraging(
    aggregation="driver", batch_size_per_worker=6, averaging_frequency=2, workers=2
)
T, F, CLASSES, HALF = 4, 2, 3, 10
STEPS = "id int, features array<array<double>>, label array<int>"


def stepwise():
    layers = [Dense(units=4, activation="tanh"), RnnOutput(units=CLASSES)]
    return NetworkConf(input_shape=(T, F), layers=layers, seed=1)


def sequences():
    """Returns features and labels of 20 sequences of 1 to 4 steps."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, T + 1, 2 * HALF)
    x = [rng.integers(0, 5, (n, F)).astype(float) for n in lengths]
    return x, [rng.integers(0, CLASSES, n) for n in lengths]


def padded():
    x, y = sequences()
    features, mask = pad(x, T)
    return Arrays({"features": features, "mask": mask}, pad(y, T)[0], records_per_split=HALF)


def frame(rows, schema):
    spark = SparkSession.builder.getOrCreate()
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), schema)


def trained_here(conf, source, crew):
    network = Network(conf)
    network.fit(source, 2, MASTER, crew)
    return network


@pytest.fixture(scope="module")
def crew():
    from sparkdl.training.workers.local import LocalWorkers

    with LocalWorkers(2) as crew:
        yield crew


def rows_of_sequences(sc):
    x, y = sequences()
    records = [(a, b) if i % 2 else Row(features=a.tolist(), label=b) for i, (a, b) in
               enumerate(zip(x, y, strict=True))]  # fmt: skip
    return sc.parallelize(records, 2)


def frame_of_sequences(sc):
    rows = [(i, a.tolist(), b.tolist()) for i, (a, b) in enumerate(zip(*sequences(), strict=True))]
    return frame(rows, STEPS)


@pytest.fixture(scope="module")
def stepped(crew):
    """The sequence network trained locally, and its loss."""
    here = trained_here(stepwise(), padded(), crew)
    return here, here.evaluate(padded()).loss


@pytest.mark.parametrize("make", [rows_of_sequences, frame_of_sequences])
def test_sequences_of_different_length(sc, stepped, make):
    here, loss = stepped
    net = SparkNetwork(sc, stepwise(), MASTER)
    net.fit(make(sc), 2)
    assert_equal(net.network.state, here.state)
    result = net.evaluate(make(sc))
    assert result.examples == sum(map(len, sequences()[0]))
    assert result.loss == pytest.approx(loss, rel=1e-5)


def test_predictions_of_sequences_are_lists(sc):
    net = SparkNetwork(sc, stepwise(), MASTER)
    found = sorted(net.predict(frame_of_sequences(sc)).collect(), key=lambda row: row.id)
    probabilities = net.network.predict(padded().features)
    for row, p in zip(found, probabilities, strict=True):
        np.testing.assert_allclose(np.reshape(row.probability, (T, CLASSES)), p, rtol=1e-4)
        assert row.prediction == p.argmax(axis=1).tolist()


def test_several_inputs_outputs_and_weights(sc, crew):
    rng = np.random.default_rng(0)
    n = 2 * HALF
    x = {"left": rng.integers(0, 5, (n, 2)) * 1.0, "right": rng.integers(0, 5, (n, 3)) * 1.0}
    y = {"kind": rng.integers(0, 2, n), "size": rng.integers(0, 4, n) * 0.5}
    weights = rng.integers(0, 3, n) * 0.5
    here = trained_here(
        branches(), Arrays(x | {"weights": weights}, y, records_per_split=HALF), crew
    )
    columns = {**x, **y, "w": weights}
    rows = [tuple(column[i].tolist() for column in columns.values()) for i in range(n)]
    kinds = "left array<double>, right array<double>, kind int, size double, w double"
    data = frame(rows, kinds)
    net = SparkNetwork(sc, branches(), MASTER)
    net.fit(data, 2, weights="w")
    assert_equal(net.network.state, here.state)
    assert net.evaluate(data).examples == n
    found = net.predict(data.drop("kind", "size")).collect()
    np.testing.assert_allclose([row.probability for row in found], here.predict(x), rtol=1e-4)


def test_each_output_has_weights_of_its_own(sc, crew):
    rng = np.random.default_rng(0)
    n = 2 * HALF
    x = {"left": rng.integers(0, 5, (n, 2)) * 1.0, "right": rng.integers(0, 5, (n, 3)) * 1.0}
    y = {"kind": rng.integers(0, 2, n), "size": rng.integers(0, 4, n) * 0.5}
    w = {name: rng.integers(0, 3, n) * 0.5 for name in y}
    own = {f"{name}_weights": column for name, column in w.items()}
    source = Arrays(x | own, y, records_per_split=HALF)
    here = trained_here(branches(), source, crew)
    columns = x | y | {"a": w["kind"], "b": w["size"]}
    rows = [tuple(column[i].tolist() for column in columns.values()) for i in range(n)]
    kinds = "left array<double>, right array<double>, kind int, size double, a double, b double"
    data, names = frame(rows, kinds), {"weights": {"kind": "a", "size": "b"}}
    net = SparkNetwork(sc, branches(), MASTER)
    net.fit(data, 2, validation=data, **names)
    assert_equal(net.network.state, here.state)
    records = data.rdd.map(lambda row: row.asDict())
    for output in ("kind", "size"):
        found, wanted = (
            net.evaluate(data, output=output, **names),
            here.evaluate(source, output=output),
        )
        assert found.figures() == pytest.approx(wanted.figures(), rel=1e-6)
        assert net.evaluate(records, output=output, **names).loss == pytest.approx(found.loss)
    plain = net.evaluate(data).loss
    assert net.history.epochs[-1].validation.loss == net.evaluate(data, **names).loss != plain
    with pytest.raises(ConfigError, match=r"weights must be of one of \['kind', 'size'\].*'knd'"):
        net.fit(data, weights={"knd": "a"})
    with pytest.raises(DataError, match="column 'c'"):
        net.fit(data, weights={"kind": "c"})


CROP = Compose(ReshapeRecords(shape=(1, 5, 6)), Crop(size=3), Mirror(), Scale(factor=1 / 255))


def images():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (20, 1, 5, 6), dtype=np.uint8), rng.integers(0, CLASSES, 20)


def source_of_images(sc):
    return Arrays(*images(), records_per_split=HALF, transform=CROP), {}


def rdd_of_images(sc):
    return sc.parallelize([*zip(*images(), strict=True)], 2), {"transform": CROP}


def frame_of_images(sc):
    rows = [(bytearray(x.tobytes()), int(y)) for x, y in zip(*images(), strict=True)]
    return frame(rows, "features binary, label int"), {"transform": CROP}


OF_CROPS = NetworkConf(input_shape=(1, 3, 3), layers=[Output(units=CLASSES)], seed=2)


@pytest.fixture(scope="module")
def cropped(crew):
    """The image network trained locally, and its loss."""
    source, _ = source_of_images(None)
    here = trained_here(OF_CROPS, source, crew)
    return here, here.evaluate(source).loss


@pytest.mark.parametrize("make", [source_of_images, rdd_of_images, frame_of_images])
def test_images_are_cropped_on_executors(sc, cropped, make, tmp_path):
    here, loss = cropped
    net, (data, options) = SparkNetwork(sc, OF_CROPS, MASTER), make(sc)
    net.fit(data, 2, **options)
    assert_equal(net.network.state, here.state)
    evaluated = net.evaluate(data, **options).loss
    assert evaluated == pytest.approx(loss, rel=1e-5)
    found = net.predict(data, **options).collect()
    center = images()[0][:, :, 1:4, 1:4] / np.float32(255)
    unasked = net.predict(data).collect()  # the fit's or the source's transform is used
    for row, again, p in zip(found, unasked, here.predict(center), strict=True):
        np.testing.assert_allclose(getattr(row, "probability", row), p, rtol=1e-4)
        np.testing.assert_array_equal(*(getattr(one, "probability", one) for one in (row, again)))
    net.save(tmp_path / "model")
    loaded = SparkNetwork.load(sc, tmp_path / "model", MASTER)
    assert loaded.network.transform == options.get("transform")
    assert loaded.evaluate(data).loss == evaluated


TURNED = Compose(
    Rotate(degrees=30, target_fill=255, targets=["labels"]),
    RandomResizedCrop(size=4, targets=["labels"]),
    Mirror(targets=["labels"]),
    Scale(factor=1 / 255),
)
SEGMENTS = NetworkConf(
    input_shape=(1, 4, 4),
    layers=[
        Conv2D(filters=CLASSES, kernel_size=3, padding="same"),
        LossLayer(loss=SoftmaxCrossEntropy(ignore_label=255)),
    ],
    seed=2,
)


def masked_images():
    """Returns images (20, 1, 5, 7) and a class for each pixel, some of which are not known."""
    rng = np.random.default_rng(0)
    y = rng.choice([*range(CLASSES), 255], (20, 5, 7))
    return rng.integers(0, 256, (20, 1, 5, 7), dtype=np.uint8), y


def rows_of_masks(sc):
    return sc.parallelize([*zip(*masked_images(), strict=True)], 2)


def lists_of_masks(sc):
    rows = [
        (i, x.tolist(), y.tolist()) for i, (x, y) in enumerate(zip(*masked_images(), strict=True))
    ]
    return frame(rows, "id int, features array<array<array<int>>>, label array<array<int>>")


def pictures_of_masks(sc):
    """As spark.read.format("image") gives them."""
    rows = [
        (i, *(("", 5, 7, 1, 0, bytearray(one.astype(np.uint8).tobytes())) for one in (x, y)))
        for i, (x, y) in enumerate(zip(*masked_images(), strict=True))
    ]
    kind = "struct<origin:string,height:int,width:int,nChannels:int,mode:int,data:binary>"
    return frame(rows, f"id int, features {kind}, label {kind}")


@pytest.fixture(scope="module")
def segmented(crew):
    """{type of images: (the network of pixels trained locally, its evaluation)}."""
    found, (x, y) = {}, masked_images()
    for kind in (np.uint8, np.float32):  # whose values Rotate does not round
        source = Arrays(x.astype(kind), y, records_per_split=HALF, transform=TURNED)
        here = trained_here(SEGMENTS, source, crew)
        found[kind] = here, here.evaluate(source)
    return found


@pytest.mark.parametrize(
    "make, kind",
    [(rows_of_masks, np.uint8), (lists_of_masks, np.float32), (pictures_of_masks, np.uint8)],
)
def test_masks_move_with_their_images_on_executors(sc, segmented, make, kind):
    here, evaluated = segmented[kind]
    net, data = SparkNetwork(sc, SEGMENTS, MASTER), make(sc)
    net.fit(data, 2, transform=TURNED)
    assert_equal(net.network.state, here.state)
    found = net.evaluate(data)
    np.testing.assert_array_equal(found.confusion, evaluated.confusion)
    assert found.loss == pytest.approx(evaluated.loss, rel=1e-5)
    alone = data.map(lambda pair: pair[0]) if make is rows_of_masks else data.drop("label")
    assert len(net.predict(alone).collect()) == 20


def test_targets_that_are_no_columns_are_refused_before_a_job(sc):
    net = SparkNetwork(sc, SEGMENTS, MASTER)
    for use in (partial(net.fit, epochs=2), net.evaluate):
        with pytest.raises(ConfigError, match="Rotate.targets must be one of .*got 'label'; did"):
            use(rows_of_masks(sc), transform=Rotate(degrees=3, targets=["label"]))


def test_another_transform_or_none_is_taken_as_it_is_given(sc, caplog):
    rng = np.random.default_rng(3)
    rows = [*zip(rng.random((20, F)).tolist(), rng.integers(0, CLASSES, 20).tolist())]
    data = frame(rows, "features array<double>, label int")
    conf = NetworkConf(input_shape=(F,), layers=[Output(units=CLASSES)], seed=2)
    net = SparkNetwork(sc, conf, MASTER)
    net.fit(data, transform=Scale(factor=3.0))
    plain = SparkNetwork(sc, Network(conf, net.network.state), MASTER)
    for options in ({}, {"transform": False}, {"transform": Scale(factor=0.5)}):
        same = {"transform": options.get("transform", Scale(factor=3.0)) or None}
        assert net.evaluate(data, **options).loss == plain.evaluate(data, **same).loss
        assert net.predict(data, **options).collect() == plain.predict(data, **same).collect()
        ours, theirs = (
            one.features(data, "output_1", **o) for one, o in ((net, options), (plain, same))
        )
        assert ours.collect() == theirs.collect()
    net.fit(data)
    assert "this fit has no transform; the network's last one had Scale" in caplog.text
    assert net.network.transform is None


def test_a_source_has_the_transform_that_it_has(sc):
    net = SparkNetwork(sc, stepwise(), MASTER)
    with pytest.raises(ConfigError, match="transform must be that of the source Arrays"):
        net.evaluate(padded(), transform=CROP)


def test_weights_named_beside_a_source_are_refused(sc):
    """They were left out without a word: the fit and its figures were those without weights."""
    x, y = np.ones((4, 3)), np.arange(4) % CLASSES
    conf = NetworkConf(input_shape=(3,), layers=[Output(units=CLASSES)])
    net, source = SparkNetwork(sc, conf, MASTER), Arrays({"features": x, "w": np.ones(4)}, y)
    for use in (net.fit, net.evaluate, net.score):
        with pytest.raises(ConfigError, match="weights must be None for the source Arrays, whose"):
            use(source, weights="w")
    data = frame([([1.0, 1.0, 1.0], 1, 0.5)] * 12, "features array<double>, label int, w double")
    net.fit(data, weights="w", validation=source)  # which has none
    assert net.history.epochs[-1].validation.examples == 4


def test_columns_named_beside_a_source_are_refused(sc, tmp_path):
    """They were ignored: a fit of "amount" trained on the column "label"."""
    columns = {"features": [[1.0, 2.0, 3.0]] * 4, "label": [0, 1] * 2, "amount": [1, 0] * 2}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "part-0.parquet")
    conf = NetworkConf(input_shape=(3,), layers=[Output(units=CLASSES)])
    net, source = SparkNetwork(sc, conf, MASTER), Parquet(tmp_path)
    of_records = partial(net.features, layers="output_1")
    for use in (net.fit, net.evaluate, net.score, net.score_examples):
        text = "label must be \"label\", the default, for the source Parquet, .*got 'amount'"
        with pytest.raises(ConfigError, match=text + r"; name it in Parquet\(label=\.\.\.\)"):
            use(source, label="amount")
    for use in (net.fit, net.evaluate, net.predict, of_records):
        with pytest.raises(ConfigError, match='features must be "features".*; name it in Parquet'):
            use(source, features="amount")
    with pytest.raises(ConfigError, match="for the source Arrays, .* got 'amount'; leave it out"):
        net.evaluate(Arrays(np.ones((4, 3)), np.zeros(4)), label="amount")
    net.evaluate(Parquet(tmp_path, label="amount"), label="amount")  # says the same twice
    data = frame([([1.0, 1.0, 1.0], 1)] * 12, "features array<double>, amount int")
    net.fit(source, label="amount", validation=data)  # of which it is
    assert net.history.epochs[-1].validation.examples == 12
