"""Labels of pixels that a transform moves: their stored shapes, and what is refused early."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from sparkdl.data import (
    Arrays,
    Batch,
    Compose,
    Crop,
    Mirror,
    Pad,
    RandomResizedCrop,
    ReshapeRecords,
    Resize,
    Rotate,
    Scale,
)
from sparkdl.errors import ConfigError, DataError, ShapeError
from sparkdl.nn import Adam, Conv2D, Flatten, LossLayer, NetworkConf, Output
from sparkdl.nn.losses import SigmoidCrossEntropy, SoftmaxCrossEntropy
from sparkdl.training.inputs.minibatch import prepare_minibatch
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network
from tests.training.problems import averaging

LABELS = ["labels"]
LARGE = (9, 11)  # of stored images


def conf(loss=None, filters=3, size=(6, 8)):
    loss = SoftmaxCrossEntropy(ignore_label=255) if loss is None else loss
    layers = [Conv2D(filters=filters, kernel_size=1), LossLayer(loss=loss)]
    options = {"seed": 3, "optimizer": Adam(learning_rate=0.05)}
    return NetworkConf(input_shape=(1, *size), layers=layers, **options)


def images(size=LARGE, n=40, seed=0):
    """Returns images of a number for each pixel, and its class: low, middle or high."""
    x = np.random.default_rng(seed).choice([0, 100, 250], (n, 1, *size)).astype(np.uint8)
    return x, np.searchsorted([50, 200], x[:, 0])


def fitted(source, crew, net=None, epochs=2):
    network = Network(conf() if net is None else net)
    network.fit(source, epochs=epochs, master=averaging(batch_size_per_worker=10), workers=crew)
    return network


SHAPED = Crop(size=(6, 8), targets=LABELS)
SHAPES = [
    (Crop(size=(6, 8), targets=LABELS), (None, None)),
    (Resize(size=(6, 8), targets=LABELS), (None, None)),
    (RandomResizedCrop(size=(6, 8), targets=LABELS), (None, None)),
    (Pad(size=(1, 2), targets=LABELS), (4, 4)),
    (Rotate(degrees=3, targets=LABELS), (6, 8)),
    (Compose(Pad(size=4, targets=LABELS), Crop(size=(6, 8), targets=LABELS)), (None, None)),
    (Compose(ReshapeRecords(shape=LARGE, column="labels"), SHAPED), LARGE),
    (Resize(size=(6, 8), column="labels", interpolation="nearest"), (None, None)),
    (Crop(size=(6, 8)), (6, 8)),
    (None, (6, 8)),
    (lambda batch: batch, (6, 8)),
]


@pytest.mark.parametrize("transform, shape", SHAPES, ids=str)
def test_stored_labels_have_the_shape_that_the_transform_turns_into_the_network_s(transform, shape):
    assert schema_of(conf(), transform=transform).outputs["labels"].shape == shape
    if shape != LARGE:  # which has no axis of channels
        values = schema_of(conf(SigmoidCrossEntropy()), transform=transform)
        assert values.outputs["labels"].shape == (3, *shape)
    assert schema_of(conf(), labels=False, transform=transform).outputs == {}


@pytest.mark.parametrize("shape", [(9, 11), (1, 9, 11), (9, 11, 1)], ids=str)
@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float32, np.int64])
def test_masks_have_an_axis_of_channels_or_none(shape, kind):
    x, y = images()
    schema = schema_of(conf(), transform=SHAPED)
    batch = Batch.of(x, y.reshape(40, *shape).astype(kind))
    found = schema.check(batch, "here").labels
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, y)
    values = schema_of(conf(SigmoidCrossEntropy(), 1), transform=SHAPED).check(batch, "here")
    np.testing.assert_array_equal(values.labels, y[:, np.newaxis])


def test_masks_may_be_one_hot_and_have_the_class_that_the_loss_ignores():
    x, y = images()
    schema = schema_of(conf(), transform=SHAPED)
    found = schema.check(Batch.of(x, np.eye(3)[y]), "here").labels
    np.testing.assert_array_equal(found, y)
    y[3, 2, 1] = 255
    np.testing.assert_array_equal(schema.check(Batch.of(x, y), "here").labels, y)
    y[3, 2, 1] = 7
    with pytest.raises(DataError, match="record 3: label must be in .0, 3. or 255, got 7"):
        schema.check(Batch.of(x, y), "here")


@pytest.mark.parametrize("shape, cure", [((99,), "; ReshapeRecords before"), ((2, 9, 11), "$")])
def test_masks_without_rows_and_columns_are_refused(shape, cure):
    x, _ = images()
    message = (
        rf"label must have the shape \(any, any\), got \({', '.join(map(str, shape))},?\){cure}"
    )
    with pytest.raises(DataError, match=message):
        schema_of(conf(), transform=SHAPED).check(Batch.of(x, np.zeros((40, *shape))), "here")


REFUSED = [
    (Crop(size=(6, 8), targets=["label"]), ConfigError, "Crop.targets must be one .*'label'; did"),
    (Mirror(targets=["mask"]), ConfigError, r"Mirror.targets must be one of.*\['features', 'labe"),
    (
        Compose(Scale(), Rotate(degrees=3, target_fill=3, targets=LABELS)),
        ConfigError,
        r"Rotate.target_fill must be a class of 'labels' in \[0, 3\), or the loss's ignore_label "
        r"\(255\), got 3$",
    ),
    (Pad(size=2, target_fill=0.5, targets=LABELS), ConfigError, "Pad.target_fill must be a class"),
    (
        Compose(Scale(), Resize(size=(6, 8), column="labels")),
        ConfigError,
        r"Resize.column must be .*, got 'labels'; targets=\['labels'\] moves them with the images, "
        r"Resize\(interpolation='nearest'\) alone$",
    ),
    (
        Rotate(degrees=3, column="labels"),
        ConfigError,
        r"Rotate.column must be .*; targets=\['labels'\] moves them with the images$",
    ),
    (
        Resize(size=(6, 9), column="labels", interpolation="nearest"),
        ShapeError,
        r"Resize gives examples of \(6, 9\)",
    ),
    (Crop(size=(6, 7), targets=LABELS), ShapeError, r"Crop gives examples of \(1, 6, 7\)"),
    (
        Compose(Crop(size=(6, 7), targets=LABELS), Resize(size=(6, 8))),
        ShapeError,
        r"\(1, 6, 7\).*what follows takes \(1, 6, 8\); 'labels' is one of Crop.targets",
    ),
]


@pytest.mark.parametrize("transform, error, message", REFUSED, ids=[m for *_, m in REFUSED])
def test_what_cannot_fit_is_refused_before_any_record(transform, error, message):
    with pytest.raises(error, match=message):
        schema_of(conf(), transform=transform)


def test_a_fill_needs_a_class_or_an_ignored_one():
    turn = Rotate(degrees=3, target_fill=255, targets=LABELS)
    schema_of(conf(), transform=turn)
    schema_of(conf(SigmoidCrossEntropy()), transform=turn)
    message = r"in \[0, 3\), got 255; a loss with ignore_label leaves pixels out"
    with pytest.raises(ConfigError, match=message):
        schema_of(conf(SoftmaxCrossEntropy()), transform=turn)


def test_labels_of_no_pixels_are_refused_as_targets():
    net = NetworkConf(input_shape=(1, *LARGE), layers=[Flatten(), Output(units=3)])
    with pytest.raises(ShapeError, match="Mirror.targets must have a value for each pixel"):
        schema_of(net, transform=Mirror(targets=LABELS))


@pytest.mark.slow
def test_a_center_cropped_with_its_mask_trains_as_one_cropped_before(crews):
    x, y = images()
    crop = Crop(size=(6, 8), random=False, targets=LABELS)
    center = Arrays(x[:, :, 1:7, 1:9], y[:, 1:7, 1:9])
    moved = Arrays(x, y, transform=crop)
    one, other = fitted(moved, crews(2)), fitted(center, crews(2))
    np.testing.assert_array_equal(one.state.params, other.state.params)
    found, wanted = one.evaluate(moved), one.evaluate(center)
    assert found.loss == wanted.loss
    np.testing.assert_array_equal(found.confusion, wanted.confusion)
    assert found.confusion.sum() == 40 * 6 * 8


TRAINED = {
    "Crop": [Crop(size=(6, 8), targets=LABELS)],
    "Pad": [Pad(size=2, target_fill=255, targets=LABELS), Crop(size=(6, 8), targets=LABELS)],
    "RandomResizedCrop": [RandomResizedCrop(size=(6, 8), area=(0.9, 1), targets=LABELS)],
    "Rotate": [
        Rotate(degrees=20, target_fill=255, targets=LABELS),
        Crop(size=(6, 8), targets=LABELS),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_a_network_learns_classes_of_pixels_that_move(crews, name):
    """Each pixel tells its class, so labels of other pixels would keep the loss near log 3."""
    x, y = images((3, 4))
    x, y = (np.repeat(np.repeat(a, 3, -2), 3, -1) for a in (x, y))  # patches of 9 pixels
    chain = Compose(*TRAINED[name], Mirror(targets=LABELS), Scale(factor=1 / 255))
    source = Arrays(x, y, transform=chain)
    network = fitted(source, crews(1), epochs=60)
    assert network.evaluate(source).accuracy > 0.9
    assert network.history.epochs[-1].loss < 0.6 < np.log(3)


def test_records_to_predict_have_no_masks():
    x, y = images()
    rows = ReshapeRecords(shape=LARGE, column="labels")
    chain = Compose(rows, Compose(Crop(size=(6, 8), targets=LABELS), Scale(factor=1 / 255)))
    found = Network(conf()).evaluate(Arrays(x, y.reshape(40, -1), transform=chain))
    assert found.confusion.sum() == 40 * 48
    features = Batch(columns={"features": x}, ids=np.arange(40, dtype=np.uint64))
    alone = prepare_minibatch(features, chain, conf())
    assert [*alone.columns] == ["features"]
    np.testing.assert_array_equal(alone.features, x[:, :, 1:7, 1:9] * np.float32(1 / 255))
    assert prepare_minibatch(features, rows, conf()).features is x


def test_the_fill_of_new_pixels_is_left_out_of_evaluations():
    x, y = images((4, 4))
    pad = Pad(size=(1, 2), target_fill=255, targets=LABELS)
    found = Network(conf()).evaluate(Arrays(x, y, transform=pad))
    assert found.confusion.sum() == 40 * 16


def test_masks_are_resized_alone_to_the_size_of_an_output(crews):
    """Each pixel is that of PIL's Image.resize with NEAREST."""
    small, (x, y) = conf(), images(n=20)
    marks = Arrays(np.ascontiguousarray(x[:, :, :6, :8]), y)
    nearest = Resize(size=(6, 8), column="labels", interpolation="nearest")
    theirs = np.stack(
        [Image.fromarray(m.astype(np.uint8)).resize((8, 6), Image.Resampling.NEAREST) for m in y]
    )
    resized = fitted(replace(marks, transform=nearest), crews(2), small)
    before = fitted(Arrays(marks.features, theirs.astype(y.dtype)), crews(2), small)
    np.testing.assert_array_equal(resized.state.params, before.state.params)
