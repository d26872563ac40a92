"""Losses of how far predicted and true areas overlap: Dice and Tversky."""

from typing import Any, ClassVar

from sparkdl.config import Boolean, Choice, Integer, Number, Sequence, dataclass, option
from sparkdl.config.field_types import OptionalSeveral
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.losses.base import (
    SHARES,
    WEIGHTS,
    Loss,
    are_weights,
    check_length,
    count_labels,
    differs,
    units_axis,
    units_last,
    weight_terms,
)


@dataclass(frozen=True, kw_only=True)
class Overlap(Loss, abstract=True):
    """A loss of how far predicted and true areas overlap, for segmentation.

    Sums are over the places of an example (pixels, or steps that are not masked); the loss is the
    mean over units. The reduction of the output layer has no effect.
    """

    label_range: ClassVar = SHARES
    of_sequence = True  # all places of an example at once
    has_places = True

    labels: str = option(
        Choice(of=("class", "one_hot", "masks")),
        '"class": an integer for each place, and p = softmax(z). "one_hot": 1 at the class and 0 '
        'elsewhere, or a probability of each class. "masks": 0 or 1 for each unit, which is a mask '
        "of its own, and p = sigmoid(z).",
        default="class",
    )
    smooth: float = option(
        Number(minimum=0),
        "Added to both sums; above 0 the loss is 0 where a unit is neither predicted nor true, at "
        "0 it is 1.",
        default=1.0,
    )
    per_unit: bool = option(
        Boolean(), "False: one sum over all units, so that large classes count more.", default=True
    )
    class_weights: OptionalSeveral[float] = option(
        Sequence(of=Number(minimum=0)),
        "Factor of the loss of each unit, not all of them 0; the mean divides by the number of "
        "units all the same. Without `per_unit` they are factors in both sums, as in the "
        "generalized Dice loss.",
        default=None,
    )
    ignore_label: int | None = option(
        Integer(limit=2**31 - 1),
        "Class of the places that do not count, such as 255 at the edges of objects.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        require(self, "class_weights", are_weights(self.class_weights), WEIGHTS)
        holds = self.ignore_label is None or self.labels == "class"
        require(self, "ignore_label", holds, "None where labels are no classes")

    @property
    def label_kind(self) -> str:  # type: ignore[override]
        return "class" if self.labels == "class" else "values"

    @property
    def predicts(self) -> str:
        return "values" if self.labels == "masks" else "class"

    def label_shape(self, z_shape: Any) -> Shape:
        axis = units_axis(z_shape)
        check_length(self, "class_weights", z_shape[axis])
        if self.labels != "masks" and z_shape[axis] < 2:
            raise ShapeError(
                f"{self.type_name} of classes needs 2 units or more, got {z_shape[axis]}; one mask "
                f'has {type(self).__name__}(labels="masks")'
            )
        if self.labels != "class":
            return tuple(z_shape)
        return tuple(z_shape[1:] if axis == 0 else z_shape[:-1])

    def counts(self, labels: Value) -> Value:
        return None if self.ignore_label is None else differs(labels, self.ignore_label)

    def output(self, z: Value) -> Value:
        rank = len(z.shape)
        if rank < 4:
            return self.probabilities(z)
        p = self.probabilities(ops.transpose(z, units_last(z)))
        return ops.transpose(p, (0, rank - 1, *range(1, rank - 1)))

    def probabilities(self, z: Value) -> Value:
        """Returns p of z (..., units)."""
        return ops.sigmoid(z) if self.labels == "masks" else ops.softmax(z)

    def per_example(self, z: Value, labels: Value, mask: Value = None) -> Value:
        p = self.probabilities(by_place(z))
        if self.labels == "class":
            places = ops.reshape(labels, p.shape[:2])
            y = ops.one_hot(places, p.shape[2], z.dtype)
            if self.ignore_label is not None:
                counted = count_labels(places, self.ignore_label, z.dtype)
                mask = counted if mask is None else ops.mul(counted, mask)
        else:
            y = by_place(labels)
        if mask is not None:
            mask = ops.reshape(mask, (*p.shape[:2], 1))
            p, y = ops.mul(p, mask), ops.mul(y, mask)
        weights = self.class_weights
        if self.per_unit:
            lost = ops.sub(1.0, self.index(ops.mul(p, y), p, y, (1,)))
            return ops.mean(weight_terms(lost, weights), axes=(1,))
        both, p, y = (weight_terms(x, weights) for x in (ops.mul(p, y), p, y))
        return ops.sub(1.0, self.index(both, p, y, (1, 2)))

    def index(self, both: Value, p: Value, y: Value, axes: Shape) -> Value:
        """Returns the share of areas that overlap, from p y, p and y (n, places, units)."""
        raise NotImplementedError

    def share(self, found: Value, total: Value) -> Value:
        least = ops.maximum(ops.add(total, self.smooth), 1e-7)  # where Keras adds 1e-7
        return ops.div(ops.add(found, self.smooth), least)


@dataclass(frozen=True, kw_only=True)
class Dice(Overlap, name="dice"):
    """1 - (2 sum of p y + smooth) / (sum of p + sum of y + smooth), for segmentation.

    The sums are over the places of an example (pixels, or steps that are not masked); the loss is
    the mean over units. It depends on the share of a class that is found, however small the class
    is. With `smooth` 0 and not `per_unit` these are the numbers of Keras's Dice over all axes of an
    example. The reduction of the output layer has no effect.

    Shapes
    ------
    z (batch, units, H, W), (batch, T, units) or (batch, units); labels (batch, H, W), (batch, T)
    or (batch,), or the shape of z

    References
    ----------
    Milletari, Navab and Ahmadi, V-Net (2016), section 3, without squares; Dice, Measures of the
    amount of ecologic association between species (1945). Weights without `per_unit`: Sudre et al.,
    Generalised Dice overlap as a deep learning loss function (2017), eq. 2.
    """

    def index(self, both: Value, p: Value, y: Value, axes: Shape) -> Value:
        total = ops.sum(ops.add(p, y), axes=axes)
        return self.share(ops.mul(ops.sum(both, axes=axes), 2.0), total)


@dataclass(frozen=True, kw_only=True)
class Tversky(Overlap, name="tversky"):
    """1 - (TP + smooth) / (TP + alpha FP + beta FN + smooth), for segmentation.

    TP is the sum of p y over the places of an example, FP that of p (1 - y), FN that of (1 - p) y;
    the loss is the mean over units. A `beta` above `alpha` makes it find more of a small class, at
    the price of false alarms. With both 0.5 and `smooth` 0 it is the Dice loss. With `smooth` 0 and
    not `per_unit` these are the numbers of Keras's Tversky over all axes of an example, but for the
    names: what Keras multiplies by its `alpha` are the false negatives. The reduction of the output
    layer has no effect.

    Shapes
    ------
    As of Dice.

    References
    ----------
    Salehi, Erdogmus and Gholipour, Tversky loss function for image segmentation using 3D fully
    convolutional deep networks (2017), eq. 1 and 4.
    """

    alpha: float = option(Number(minimum=0), "Weight of false positives.", default=0.5)
    beta: float = option(Number(minimum=0), "Weight of false negatives.", default=0.5)

    def index(self, both: Value, p: Value, y: Value, axes: Shape) -> Value:
        found = ops.sum(both, axes=axes)
        wrong = ops.mul(ops.sub(p, both), self.alpha)
        missed = ops.mul(ops.sub(y, both), self.beta)
        return self.share(found, ops.add(found, ops.sum(ops.add(wrong, missed), axes=axes)))


def by_place(x: Value) -> Value:
    """Returns x, whose units are the first axis of images, else the last, as (n, places, units)."""
    x = ops.transpose(x, units_last(x))
    return ops.reshape(x, (x.shape[0], -1, x.shape[-1]))
