"""Base of the layers whose output is compared with labels."""

from math import prod
from typing import Any, ClassVar

from sparkdl.config import Choice, Number, Of, Text, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.losses import Loss
from sparkdl.nn.losses.base import units_axis, units_last

OF_BATCH = ("valid", "total")  # reductions that join the losses of all examples
REDUCTIONS = ("mean", "sum", "full", *OF_BATCH)


@dataclass(frozen=True, kw_only=True)
class ScoredLayer(Layer, abstract=True):
    """A layer that returns z, which the loss compares with the labels. The prediction is output(z).

    Sequences have a label per step and images one per position; an example's loss is their mean or
    sum. Masked steps do not count.

    Shapes
    ------
    z (batch, units), (batch, T, units) or (batch, units, H, W)
    """

    adds_loss: ClassVar = True
    reads_labels: ClassVar[bool] = True  # False if the data has no labels for it

    loss: AnyOf[Loss] = option(
        Of(family=Loss),
        '"softmax_cross_entropy" for classes; for values "sigmoid_cross_entropy", "mse", "mae", '
        "or another of nn/losses.",
        default="softmax_cross_entropy",
    )
    loss_weight: float = option(
        Number(),
        "Factor of this loss in the network's total loss; a negative one maximizes it.",
        default=1.0,
    )
    reduction: str = option(
        Choice(of=REDUCTIONS),
        'Reduction of the losses of an example\'s steps or places: "mean" of those that count, '
        '"sum", or "full", the mean of all. "valid" divides their sum by how many count in the '
        'whole batch and "total" by nothing, so that the loss of the batch is what Caffe\'s '
        'normalization VALID or NONE gives; FULL and BATCH_SIZE are "full" and "sum". With '
        '"valid" and "total" the batch is a worker\'s own minibatch or microbatch; gradients of '
        "workers, of accumulated minibatches and of microbatches are averaged by examples, as "
        "Caffe does over GPUs and iter_size.",
        default="mean",
    )
    labels: str | None = option(
        Text(what="a column's name"),
        "Column of the data that holds the labels; outputs that name the same one share it. "
        'None: "labels" where the network has one output, else the layer\'s name.',
        default=None,
    )

    @property
    def has_joint_loss(self) -> bool:  # type: ignore[override]
        return self.reduction in OF_BATCH

    @property
    def sums_batch(self) -> bool:  # type: ignore[override]
        return self.reduction == "total"

    @property
    def label_kind(self) -> str:
        """The kind of labels, "class" or "values"; see Loss."""
        return self.loss.label_kind

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        """Returns the mask of a sequence's steps; labels have no nested steps."""
        of_steps = mask is not None and len(mask.shape) == len(self.out_shape(in_shape)) == 2
        return super().out_mask(mask, in_shape) if of_steps else None

    def check(self, out_shape: Shape) -> None:
        """Raises ShapeError if the loss does not accept z of this shape."""
        if self.loss.of_sequence:
            self.loss.label_shape(out_shape)
        else:
            self.loss.check(out_shape[units_axis(out_shape)])

    def label_shape(self, out_shape: Shape) -> Shape:
        """Returns the shape of one example's label, given that of z."""
        if self.loss.of_sequence:
            return self.loss.label_shape(out_shape)
        one = self.loss.label_shape(out_shape[units_axis(out_shape)])
        if len(out_shape) == 1:
            return one
        return (out_shape[0], *one) if len(out_shape) == 2 else (*one, *out_shape[1:])

    def output(self, z: Value) -> Value:
        """Returns the prediction, in the shape of z."""
        if len(z.shape) == 2 or self.loss.of_sequence:
            return self.loss.output(z)
        order = units_last(z)
        moved = ops.transpose(z, order)
        y = ops.reshape(self.loss.output(flat(moved)), moved.shape)
        return ops.transpose(y, tuple(order.index(i) for i in range(len(order))))

    def per_example(
        self, z: Value, labels: Value, mask: Value = None, present: Value = None
    ) -> Value:
        """Returns the loss of each example, (batch,); `mask` (batch, T) selects steps.

        `present` (batch,) is 1 for the examples that count; only "valid" and "total" read it.
        """
        if self.loss.of_sequence:
            loss: Any = self.loss
            return loss.per_example(z, labels, mask)
        if len(z.shape) == 2:
            each = self.loss.per_example(z, labels)
            if self.reduction not in OF_BATCH:
                return each
            each = ops.reshape(each, (z.shape[0], 1))
            return self.reduce(each, self.counting(each, labels, None, present))
        if len(labels.shape) == len(z.shape):
            labels = flat(ops.transpose(labels, units_last(z)))
        else:
            labels = ops.reshape(labels, (-1,))
        each = self.loss.per_example(flat(ops.transpose(z, units_last(z))), labels)
        one = z.shape[1:]
        places = prod(one) // one[units_axis(one)]
        each = ops.reshape(each, (z.shape[0], places))
        present = present if self.reduction in OF_BATCH else None
        return self.reduce(each, self.counting(each, labels, mask, present))

    def counting(self, each: Value, labels: Value, mask: Value, present: Value = None) -> Value:
        """Returns which of `each` (batch, positions) count.

        Those that are not masked, whose label is not ignored, and of examples that are `present`.
        """
        if present is not None:
            there = ops.broadcast_to(ops.reshape(present, (-1, 1)), each.shape)
            mask = there if mask is None else ops.mul(there, mask)
        counts = self.loss.counts(labels)
        if counts is None:
            return mask
        counts = ops.reshape(ops.cast(counts, each.dtype), each.shape)
        return counts if mask is None else ops.mul(counts, mask)

    def reduce(self, each: Value, mask: Value) -> Value:
        """Reduces losses (batch, positions) to (batch,)."""
        total = ops.sum(each if mask is None else ops.mul(each, mask), 1)
        if self.reduction == "sum":
            return total
        if self.reduction == "total":
            return ops.mul(total, float(each.shape[0]))
        if self.reduction == "valid" and mask is not None:
            return ops.mul(total, ops.div(float(each.shape[0]), ops.maximum(ops.sum(mask), 1.0)))
        if self.reduction == "full":
            return total / each.shape[1]
        return total / each.shape[1] if mask is None else total / ops.maximum(ops.sum(mask, 1), 1.0)


def flat(z: Value) -> Value:
    """Returns z, whose last axis has the units, as (batch * positions, units)."""
    return ops.reshape(z, (-1, z.shape[-1]))
