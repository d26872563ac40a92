"""Bases of the losses: the labels they take, the predictions, and one number per example."""

import math
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Boolean, Member, Number, Sequence, dataclass, option
from sparkdl.config.field_types import OptionalSeveral
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value

WEIGHTS = "numbers >= 0, not all of them 0"
SMALLEST = 1e-37  # near the smallest normal float32
SHARES = (0.0, 1.0)  # no, yes, or the probability of yes
COUNTS = (0.0, math.inf)
SMOOTHING = (
    "Share of each label that is spread evenly over {over}, as Keras's and PyTorch's "
    "label_smoothing; the loss of evaluations has it, too."
)
FOCUSING = (
    "Exponent of 1 - p, by which the focal loss reduces the loss of what is predicted well; the "
    "paper's is 2. 0: the cross entropy."
)


@dataclass(frozen=True, kw_only=True)
class Loss(Member):
    """Base of all losses. `z` is what the last layer computes, (batch, units).

    `label_kind` says what labels are: "class", an int32 in [0, units) per example, or "values",
    `units` float32 per example. `output(z)` is what a prediction gives. `per_example(z, labels)`
    is the loss of each example, (batch,); the loss of a batch is its mean. Steps of a sequence and
    places of an image come as so many more examples, unless the loss is `of_sequence`:
    then z is (batch, T, units), `label_shape` is asked with (T, units), and `per_example` is given
    the mask (batch, T), or None, as well.

    `label_range` is the range of labels that are values, if others teach nothing or leave the loss
    without a lower bound; without `takes_between` they are its two ends. Fits refuse others.
    """

    label_kind: ClassVar[str] = "values"
    of_sequence: ClassVar[bool] = False
    label_range: ClassVar[tuple[float, float] | None] = None
    takes_between: ClassVar[bool] = True

    def label_shape(self, units: Any) -> Shape:
        """Returns the shape of one example's label."""
        return () if self.label_kind == "class" else (units,)

    def units_for(self, width: int) -> int:
        """Returns the number of units that predict a label of `width` values."""
        return width

    @property
    def predicts(self) -> str:
        """The kind of a prediction.

        "class": a probability for each of `units` classes; "values": what labels are; "other":
        neither.
        """
        return self.label_kind

    def check(self, units: int) -> None:
        """Raises ShapeError where the loss cannot be of so many units."""

    def counts(self, labels: Value) -> Value:
        """Returns 1 for each of `labels` (n,) that counts, 0 for others; None where all do."""
        return None

    @property
    def has_places(self) -> bool:
        """Whether each step or place has a label and a prediction of its own, to be judged by."""
        return not self.of_sequence

    @property
    def predicts_z(self) -> bool:
        """Whether a prediction is z itself."""
        return type(self).output is Loss.output

    def output(self, z: Value) -> Value:
        return z

    def per_example(self, z: Value, labels: Value) -> Value:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class PerUnit(Loss, abstract=True):
    """A loss with one term per unit, summed or averaged over units."""

    averaged: ClassVar[bool] = False

    unit_weights: OptionalSeveral[float] = option(
        Sequence(of=Number(minimum=0)),
        "Factor of each unit's term, not all of them 0; a mean divides by the number of units "
        "all the same, as DL4J's weights do.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        require(self, "unit_weights", are_weights(self.unit_weights), WEIGHTS)

    def check(self, units: int) -> None:
        check_length(self, "unit_weights", units)

    def terms(self, z: Value, labels: Value) -> Value:
        """Returns the terms of all units, (batch, units)."""
        raise NotImplementedError

    def per_example(self, z: Value, labels: Value) -> Value:
        terms = weight_terms(self.terms(z, labels), self.unit_weights)
        return ops.mean(terms, axes=(1,)) if self.averaged else ops.sum(terms, axes=(1,))


@dataclass(frozen=True, kw_only=True)
class SumOrMean(PerUnit, abstract=True):
    """A loss of which both the sum and the mean over units are in use."""

    averaged: bool = option(  # type: ignore[misc]
        Boolean(),
        "The mean over units rather than the sum; those that do not count are among them.",
        default=False,
    )


def units_axis(shape: Shape) -> int:
    """Returns the axis of units of one example's z: the first of images, else the last."""
    return 0 if len(shape) > 2 else -1


def units_last(z: Value) -> Shape:
    """Returns the permutation of axes that moves the units to the end."""
    rank = len(z.shape)
    return (0, *range(2, rank), 1) if rank > 3 else tuple(range(rank))


def weight_terms(terms: Value, weights: Value) -> Value:
    """Multiplies `terms` (batch, units) by the weights of units."""
    return terms if weights is None else ops.mul(terms, np.asarray(weights, terms.dtype))


def check_length(loss: "Loss", name: str, units: int) -> None:
    """Raises ShapeError unless the option `name` is None or has one number per unit."""
    value = getattr(loss, name)
    if value is not None and len(value) != units:
        kind = type(loss).__name__
        raise ShapeError(f"{kind}.{name} must have one for each of {units} units, got {value}")


def check_classes(loss: "Loss", units: int) -> None:
    """Raises ShapeError for fewer than two units: softmax of a single one is always 1."""
    if units < 2:
        raise ShapeError(
            f"{loss.type_name} needs 2 units or more, got {units}; a yes or no has the loss "
            '"sigmoid_cross_entropy", a value "mse"'
        )


def smooth(labels: Value, share: float, even: float) -> Value:
    """Replaces a `share` of `labels` by the number `even`; returns them unchanged for a share of 0.

    References
    ----------
    Szegedy et al., Rethinking the Inception architecture for computer vision (2016), section 7.
    """
    return ops.add(ops.mul(labels, 1.0 - share), share * even) if share else labels


def focus(losses: Value, wrong: Value, gamma: float) -> Value:
    """Multiplies `losses` by wrong^gamma, where `wrong` is 1 - the probability of the label.

    It is at least 1e-37, for a finite gradient of a gamma below 1.

    References
    ----------
    Lin, Goyal, Girshick, He and Dollár, Focal loss for dense object detection (2017), eq. 4.
    """
    return ops.mul(losses, ops.power(ops.maximum(wrong, SMALLEST), gamma))


def are_weights(value: Any) -> bool:
    """Returns whether `value` is None or has a nonzero number."""
    return value is None or any(value)


def count_labels(labels: Value, ignored: float, dtype: Any) -> Value:
    """Returns 1 for each label that differs from `ignored`, else 0, as `dtype`."""
    return ops.cast(differs(labels, ignored), dtype)


def differs(labels: Value, ignored: float) -> Value:
    """Returns 1 for each label that differs from `ignored`, else 0."""
    return ops.add(ops.greater(labels, ignored), ops.greater(ignored, labels))


def any_known(labels: Value, ignored: float | None) -> Value:
    """Returns 1 for each row of `labels` (n, units) with one that differs from `ignored`, else 0.

    None: all rows count.
    """
    return None if ignored is None else ops.max(differs(labels, float(ignored)), (1,))
