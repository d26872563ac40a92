"""The loss of objects detected on a grid (YOLOv2).

N examples, B boxes per cell, K classes, H rows and W columns of cells.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from sparkdl.config import Number, Sequence, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.losses.base import Loss

FIXED = 5  # numbers per box: x, y, width, height, confidence; then a probability per class


@dataclass(frozen=True, kw_only=True)
class Yolo2(Loss, name="yolo2"):
    """Squared differences of places, sizes, confidences and classes of detected objects.

    Of the boxes of a cell with an object's middle, the one that overlaps it most is responsible:
    coordinate ((x - x')^2 + (y - y')^2 + (sqrt w - sqrt w')^2 + (sqrt h - sqrt h')^2)
    + (confidence - overlap)^2 + sum of (p - p')^2 over classes; all other boxes add
    no_object confidence^2. The overlap, intersection over union, is a way for gradients too, as in
    DL4J. What is predicted are x and y within the cell, width and height in cells, confidence,
    probabilities.

    Shapes
    ------
    z (N, B (5 + K), H, W), a box's numbers behind each other; labels (N, 4 + K, H, W): where the
    middle of an object is, left, top, right and bottom in cells from the top left of the image, and
    1 at its class; 0 elsewhere

    References
    ----------
    Redmon and Farhadi, YOLO9000: better, faster, stronger (2017); Redmon, Divvala, Girshick and
    Farhadi, You only look once (2016), eq. 3. DL4J's Yolo2OutputLayer with its defaults.
    """

    predicts: ClassVar = "other"
    of_sequence: ClassVar = True

    boxes: Several[tuple[float, float]] = option(
        Sequence(of=Sequence(of=Number(above=0), length=2), minimum=1),
        "Width and height of each box that is expected, in cells.",
    )
    coordinate: float = option(
        Number(minimum=0), "Weight of places and sizes; DL4J's lambdaCoord.", default=5.0
    )
    no_object: float = option(
        Number(minimum=0),
        "Weight of the confidence where there is no object; DL4J's lambdaNoObj.",
        default=0.5,
    )

    def label_shape(self, z_shape: Shape) -> Shape:
        channels, count = z_shape[0], len(self.boxes)
        if len(z_shape) != 3 or channels % count or channels // count <= FIXED:
            raise ShapeError(
                f"yolo2 with {count} boxes needs images of {count} (5 + classes) channels, got "
                f"{z_shape}"
            )
        return (channels // count - 1, *z_shape[1:])

    def output(self, z: Value) -> Value:
        boxes = self.decode(z)
        p = ops.transpose(boxes.p, (0, 1, 4, 2, 3))
        return ops.reshape(ops.concat([boxes.xy, boxes.size, boxes.confidence, p], 2), z.shape)

    def decode(self, z: Value) -> "Boxes":
        """Returns the boxes, confidences and class probabilities that z predicts."""
        n, channels, h, w = z.shape
        count = len(self.boxes)
        raw = ops.reshape(z, (n, count, channels // count, h, w))
        boxes = np.asarray(self.boxes, z.dtype).reshape(1, count, 2, 1, 1)
        return Boxes(
            xy=ops.sigmoid(along(raw, 2, 0, 2)),
            size=ops.mul(ops.exp(along(raw, 2, 2, 4)), boxes),
            confidence=ops.sigmoid(along(raw, 2, 4, 5)),
            p=ops.softmax(ops.transpose(along(raw, 2, FIXED, channels // count), (0, 1, 3, 4, 2))),
        )

    def per_example(self, z: Value, labels: Value, mask: Value = None) -> Value:
        predicted, truth = self.decode(z), true_boxes(labels)
        overlap = overlaps(predicted, truth)
        chosen = ops.mul(first_largest(overlap), truth.has_object)
        roots = ops.sub(ops.sqrt(predicted.size), ops.sqrt(truth.size))
        place = squares(ops.sub(predicted.xy, truth.xy), 2), squares(roots, 2)
        wrong = squares(ops.sub(predicted.confidence, overlap), 2)
        classes = ops.reshape(squares(ops.sub(predicted.p, truth.p), 4), chosen.shape)
        near = ops.add(ops.mul(ops.add(*place), self.coordinate), ops.add(wrong, classes))
        empty = ops.mul(ops.square(predicted.confidence), self.no_object)
        each = ops.add(ops.mul(chosen, near), ops.mul(ops.sub(1.0, chosen), empty))
        return ops.sum(each, axes=(1, 2, 3, 4))


class Boxes(NamedTuple):
    """Boxes: xy and size (N, B, 2, H, W), confidence (N, B, 1, H, W), p (N, B, H, W, K)."""

    xy: object
    size: object
    confidence: object
    p: object


class Truth(NamedTuple):
    """Objects: xy and size (N, 1, 2, H, W), has_object (N, 1, 1, H, W), p (N, 1, H, W, K)."""

    xy: object
    size: object
    has_object: object
    p: object


def along(x: Value, axis: int, start: int, stop: int) -> Value:
    """Slices x from `start` to `stop` along one axis."""
    starts = [start if i == axis else 0 for i in range(len(x.shape))]
    stops = [stop if i == axis else n for i, n in enumerate(x.shape)]
    return ops.slice(x, starts, stops)


def squares(x: Value, axis: int) -> Value:
    return ops.sum(ops.square(x), axes=(axis,), keepdims=True)


def true_boxes(labels: Value) -> "Truth":
    """Returns the true boxes and classes of labels (N, 4 + K, H, W), cell by cell."""
    n, channels, h, w = labels.shape
    corners = ops.reshape(along(labels, 1, 0, 4), (n, 1, 4, h, w))
    low, high = along(corners, 2, 0, 2), along(corners, 2, 2, 4)
    hot = ops.reshape(along(labels, 1, 4, channels), (n, 1, channels - 4, h, w))
    return Truth(
        xy=ops.sub(ops.mul(ops.add(low, high), 0.5), cells(h, w, labels.dtype)),
        size=ops.relu(ops.sub(high, low)),
        has_object=ops.sum(hot, axes=(2,), keepdims=True),
        p=ops.transpose(hot, (0, 1, 3, 4, 2)),
    )


def cells(h: int, w: int, dtype: Any) -> np.ndarray:
    """Returns x and y of the top left corner of each cell, (1, 1, 2, H, W)."""
    y, x = np.mgrid[:h, :w]
    return np.stack([x, y])[None, None].astype(dtype)


def overlaps(predicted: Value, truth: Value) -> Value:
    """Returns the intersection over union of boxes with their cells' objects, (N, B, 1, H, W)."""
    half, half_true = ops.mul(predicted.size, 0.5), ops.mul(truth.size, 0.5)
    low = ops.maximum(ops.sub(predicted.xy, half), ops.sub(truth.xy, half_true))
    high = ops.minimum(ops.add(predicted.xy, half), ops.add(truth.xy, half_true))
    both = area(ops.relu(ops.sub(high, low)))
    union = ops.sub(ops.add(area(predicted.size), area(truth.size)), both)
    return ops.div(both, ops.maximum(union, 1e-12))


def area(size: Value) -> Value:
    return ops.mul(along(size, 2, 0, 1), along(size, 2, 1, 2))


def first_largest(x: Value) -> Value:
    """Returns 1 for the box with the largest x (N, B, 1, H, W) of its cell, else 0.

    Among near ties, the first wins.
    """
    later = np.arange(x.shape[1], dtype=x.dtype).reshape(1, -1, 1, 1, 1) * 1e-6
    x = ops.sub(x, later.astype(x.dtype))
    return ops.sub(1.0, ops.greater(ops.max(x, axes=(1,), keepdims=True), x))
