"""The CTC loss, for sequences whose labels are not aligned with their steps."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Integer, Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.losses.base import Loss


@dataclass(frozen=True, kw_only=True)
class Ctc(Loss, name="ctc"):
    """-log of the probability of all ways in which the steps may spell the labels, in nats.

    A step says a class or, as class `blank`, nothing; classes said at neighboring steps are one.
    Labels are (label_length,) integers in [0, units) without the blank, padded with -1 behind; a
    batch may have shorter or longer ones. `best_path` reads labels from a prediction.

    Shapes
    ------
    z (batch, T, units)

    References
    ----------
    Graves, Fernández, Gomez and Schmidhuber, Connectionist temporal classification (2006), eq. 8
    and 14. optax.ctc_loss, PyTorch's CTCLoss without reduction.
    """

    label_kind: ClassVar = "class"
    predicts: ClassVar = "other"
    of_sequence: ClassVar = True
    ignore_label: ClassVar = -1  # pads the labels

    label_length: int = option(Size(minimum=1), "Labels of an example.")
    blank: int = option(Integer(minimum=0), "The blank class.", default=0)

    def label_shape(self, z_shape: Shape) -> Shape:
        if len(z_shape) != 2 or self.blank >= z_shape[1]:
            raise ShapeError(
                f"ctc needs (steps, units) with units above {self.blank}, got {z_shape}"
            )
        return (self.label_length,)

    def output(self, z: Value) -> Value:
        return ops.softmax(z)

    def per_example(self, z: Value, labels: Value, mask: Value = None) -> Value:
        return ops.ctc_loss(z, labels, mask, self.blank)


def best_path(probabilities: Value, mask: Value = None, blank: int = 0) -> list[np.ndarray]:
    """Returns the labels that the likeliest class of each step spells: a list of int arrays.

    Parameters
    ----------
    probabilities : (batch, T, units)
    mask : (batch, T), optional
        1 for steps that count.
    blank : int

    References
    ----------
    Graves et al. (2006), section 3.2, best path decoding.
    """
    path = np.asarray(probabilities).argmax(axis=2)
    counts = np.ones(path.shape, bool) if mask is None else np.asarray(mask) != 0
    return [collapse_repeats(steps[length], blank) for steps, length in zip(path, counts)]


def collapse_repeats(steps: np.ndarray, blank: int) -> np.ndarray:
    """Collapses repeated neighbors, then drops blanks."""
    first = np.ones(len(steps), bool)
    first[1:] = steps[1:] != steps[:-1]
    return steps[first & (steps != blank)]
