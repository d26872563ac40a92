"""Objects decoded from the predictions of a network with the loss yolo2."""

from typing import NamedTuple

import numpy as np

from sparkdl.nn.hints import Value
from sparkdl.nn.losses.yolo2 import FIXED


class Detection(NamedTuple):
    """An object that a network has found in an image.

    Parameters
    ----------
    left, top, right, bottom : float
        Its edges, in cells from the top left of the image.
    label : int
        Its class, from 0.
    confidence : float
        Confidence of the network, in [0, 1].
    """

    left: float
    top: float
    right: float
    bottom: float
    label: int
    confidence: float

    @property
    def area(self) -> float:
        return max(self.right - self.left, 0.0) * max(self.bottom - self.top, 0.0)


def detections(
    prediction: Value,
    boxes: int,
    threshold: float = 0.5,
    overlap: float = 0.5,
) -> "list[list[Detection]]":
    """Returns the objects found in each example, a list of lists of Detection, the surest first.

    Parameters
    ----------
    prediction : (N, boxes (5 + K), H, W)
        What predict gives.
    boxes : int
        How many boxes a cell has.
    threshold : float
        Least confidence.
    overlap : float
        Of two objects of a class that share more of their union than this, the surer one counts.
    """
    n, channels, h, w = prediction.shape
    cells = np.reshape(prediction, (n, boxes, channels // boxes, h, w))
    return [distinct(candidates(example, threshold), overlap) for example in cells]


def candidates(boxes: np.ndarray, threshold: float) -> list[Detection]:
    """Returns a Detection per sufficiently confident box (B, 5 + K, H, W), most confident first."""
    detections = []
    for b, row, column in np.argwhere(boxes[:, 4] >= threshold):
        x, y, width, height, confidence = (float(v) for v in boxes[b, :FIXED, row, column])
        x, y, label = column + x, row + y, int(boxes[b, FIXED:, row, column].argmax())
        edges = x - width / 2, y - height / 2, x + width / 2, y + height / 2
        detections.append(Detection(*edges, label, confidence))
    return sorted(detections, key=lambda one: -one.confidence)


def distinct(detections: "list[Detection]", overlap: float) -> list[Detection]:
    """Drops detections that overlap a more confident one of their class too much."""
    kept: list[Detection] = []
    for one in detections:
        if all(
            one.label != other.label or intersection_over_union(one, other) <= overlap
            for other in kept
        ):
            kept.append(one)
    return kept


def intersection_over_union(one: "Detection", other: "Detection") -> float:
    """Returns the intersection over union of two detections."""
    edges = max(one.left, other.left), max(one.top, other.top)
    both = one._replace(
        left=edges[0],
        top=edges[1],
        right=min(one.right, other.right),
        bottom=min(one.bottom, other.bottom),
    ).area
    return both / max(one.area + other.area - both, 1e-12)
