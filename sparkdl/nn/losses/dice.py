"""The Dice loss, of how far predicted and true areas overlap."""

from typing import Any

from sparkdl.config import Boolean, Choice, Integer, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.losses.base import Loss, count_labels, differs, units_axis, units_last


@dataclass(frozen=True, kw_only=True)
class Dice(Loss, name="dice"):
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
    amount of ecologic association between species (1945).
    """

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
    ignore_label: int | None = option(
        Integer(limit=2**31 - 1),
        "Class of the places that do not count, such as 255 at the edges of objects.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
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
        if self.labels != "masks" and z_shape[axis] < 2:
            raise ShapeError(
                f"dice of classes needs 2 units or more, got {z_shape[axis]}; one mask has "
                'Dice(labels="masks")'
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
        axes = (1,) if self.per_unit else (1, 2)
        both, total = ops.sum(ops.mul(p, y), axes=axes), ops.sum(ops.add(p, y), axes=axes)
        least = ops.maximum(ops.add(total, self.smooth), 1e-7)  # where Keras adds 1e-7
        found = ops.div(ops.add(ops.mul(both, 2.0), self.smooth), least)
        return ops.sub(1.0, ops.mean(found, axes=(1,)) if self.per_unit else found)


def by_place(x: Value) -> Value:
    """Returns x, whose units are the first axis of images, else the last, as (n, places, units)."""
    x = ops.transpose(x, units_last(x))
    return ops.reshape(x, (x.shape[0], -1, x.shape[-1]))
