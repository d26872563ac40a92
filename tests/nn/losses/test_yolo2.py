"""The YOLO2 loss against plain Python loops over cells and boxes."""

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine import ops
from sparkdl.engine.gradient_check import check_gradients
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import Adam, Conv2D, LossLayer, NetworkConf
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.losses import Yolo2, detections
from tests.nn.support import label

BOXES, K, H, W = ((1.0, 2.0), (3.0, 1.5)), 3, 4, 5
LOSS = Yolo2(boxes=BOXES)


def labels_of(objects):
    """Returns labels (1, 4 + K, H, W) of objects (left, top, right, bottom, class)."""
    labels = np.zeros((1, 4 + K, H, W))
    for left, top, right, bottom, kind in objects:
        row, column = int((top + bottom) / 2), int((left + right) / 2)
        labels[0, :4, row, column] = left, top, right, bottom
        labels[0, 4 + kind, row, column] = 1
    return labels


OBJECTS = [(0.2, 0.1, 2.6, 1.5, 0), (3.0, 1.0, 4.5, 3.9, 2)]


@pytest.fixture
def z(rng):
    return rng.normal(size=(1, len(BOXES) * (5 + K), H, W))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def boxes_in(z, row, column):
    """Yields (x, y, w, h, confidence, p) of each box of a cell; x and y are relative to it."""
    for numbers, (w, h) in zip(z[0, :, row, column].reshape(len(BOXES), -1), BOXES):
        p = np.exp(numbers[5:]) / np.exp(numbers[5:]).sum()
        x, y, confidence = (sigmoid(numbers[i]) for i in (0, 1, 4))
        yield x, y, w * np.exp(numbers[2]), h * np.exp(numbers[3]), confidence, p


def by_hand(z, objects, coordinate=5.0, no_object=0.5):
    middles = {(int((o[1] + o[3]) / 2), int((o[0] + o[2]) / 2)): o for o in objects}
    total = 0.0
    for row in range(H):
        for column in range(W):
            boxes, at = list(boxes_in(z, row, column)), middles.get((row, column))
            best = None
            if at:
                shares = [
                    iou(
                        (
                            column + x - w / 2,
                            row + y - h / 2,
                            column + x + w / 2,
                            row + y + h / 2,
                        ),
                        at,
                    )
                    for x, y, w, h, _, _ in boxes
                ]
                best = int(np.argmax(shares))
            for b, (x, y, w, h, confidence, p) in enumerate(boxes):
                if b != best:
                    total += no_object * confidence**2
                    continue
                left, top, right, bottom, kind = at
                place = (x - ((left + right) / 2 - column)) ** 2
                place += (y - ((top + bottom) / 2 - row)) ** 2
                place += (w**0.5 - (right - left) ** 0.5) ** 2
                place += (h**0.5 - (bottom - top) ** 0.5) ** 2
                total += coordinate * place + (confidence - shares[best]) ** 2
                total += ((p - np.eye(K)[kind]) ** 2).sum()
    return total


@pytest.mark.parametrize("objects", [OBJECTS, OBJECTS[:1], []], ids=len)
def test_equals_plain_python(objects, z):
    found = LOSS.per_example(z, labels_of(objects))
    np.testing.assert_allclose(found, [by_hand(z, objects)], rtol=1e-12)
    other = Yolo2(boxes=BOXES, coordinate=2.0, no_object=0.1)
    expected = by_hand(z, objects, 2.0, 0.1)
    np.testing.assert_allclose(other.per_example(z, labels_of(objects)), [expected], rtol=1e-12)


@pytest.mark.parametrize("objects", [OBJECTS, []], ids=len)
def test_gradients_equal_central_differences(objects, z):
    labels = labels_of(objects)
    check_gradients(lambda z: ops.sum(LOSS.per_example(z, labels)), z)


def test_a_prediction_has_what_boxes_say_in_the_place_of_z(z):
    y = LOSS.output(z)
    assert y.shape == z.shape
    for row, column in [(0, 0), (2, 4)]:
        for found, (*four, confidence, p) in zip(
            y[0, :, row, column].reshape(len(BOXES), -1), boxes_in(z, row, column)
        ):
            np.testing.assert_allclose(found, [*four, confidence, *p])


@pytest.mark.slow
def test_a_network_learns_where_objects_are(rng):
    layers = [
        Conv2D(filters=8, kernel_size=3, padding="same", activation="tanh"),
        Conv2D(filters=len(BOXES) * (5 + K), kernel_size=1),
        LossLayer(loss=LOSS),
    ]
    conf = NetworkConf(input_shape=(2, H, W), layers=layers, optimizer=Adam(learning_rate=0.02))
    assert conf.outputs[0].label_shape == (4 + K, H, W)
    x = rng.normal(size=(1, 2, H, W)).astype(np.float32)
    batch = Batch.of(x, labels_of(OBJECTS).astype(np.float32))
    replica = Replica(conf)
    for t in range(300):
        replica.step(batch, 0.02, t + 1)
    (found,) = detections(replica.forward(x)[conf.output.name], len(BOXES))
    assert sorted(one.label for one in found) == [0, 2]
    for one in found:
        expected = next(o for o in OBJECTS if o[4] == one.label)
        np.testing.assert_allclose(one[:4], expected[:4], atol=0.3)


def test_of_two_that_overlap_the_surer_counts():
    y = np.zeros((1, 2 * 7, 1, 2))
    # box 0 of cell 0, an overlapping box 1, box 0 of cell 1 of another class, an unsure box 1
    for box, cell, numbers in [
        (0, 0, (0.5, 0.5, 1, 1, 0.7, 1, 0)),
        (1, 0, (0.6, 0.5, 1, 1, 0.9, 0.8, 0.2)),
        (0, 1, (-0.5, 0.5, 1, 1, 0.6, 0, 1)),
        (1, 1, (0.5, 0.5, 1, 1, 0.4, 1, 0)),
    ]:
        y[0, 7 * box : 7 * box + 7, 0, cell] = numbers
    (found,) = detections(y, 2)
    assert [(one.label, one.confidence) for one in found] == [(0, 0.9), (1, 0.6)]
    np.testing.assert_allclose(found[0][:4], (0.1, 0, 1.1, 1))
    assert len(detections(y, 2, overlap=0.9)[0]) == 3
    assert len(detections(y, 2, threshold=0.3)[0]) == 3


REFUSED = [
    (
        lambda: Yolo2(boxes=()),
        "Yolo2.boxes must be a sequence of one or more pairs of numbers above 0, got ()",
    ),
    (lambda: Yolo2(boxes=((1, 0),)), "Yolo2.boxes[0][1] must be a number above 0, got 0"),
    (lambda: Yolo2(boxes=BOXES, coordinate=-1), "Yolo2.coordinate must be a number >= 0, got -1"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


def test_channels_must_be_those_of_whole_boxes():
    layers = [Conv2D(filters=13, kernel_size=1), LossLayer(loss=LOSS)]
    with pytest.raises(ShapeError, match=r"with 2 boxes needs images of 2 \(5 \+ classes\)"):
        NetworkConf(input_shape=(2, H, W), layers=layers)
