"""Losses between two outputs of a network that should agree, without labels."""

from math import prod
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.outputs.base import OF_BATCH, ScoredLayer, flat
from sparkdl.nn.losses import SoftmaxCrossEntropy
from sparkdl.nn.losses.base import units_axis, units_last


@dataclass(frozen=True, kw_only=True)
class Comparison(ScoredLayer):
    """z = the first input, which the loss compares with the second input instead of labels.

    For autoencoders that reproduce their input, or branches that should agree. An optional third
    input has a number for each example: those with 0 do not count in the loss, which is the mean of
    the others; "valid" divides by the number of their steps or places that count.

    Shapes
    ------
    z (batch, units), (batch, T, units) or (batch, units, H, W); the second input as labels of the
    loss are, or any shape with as many numbers; the third (batch, 1)
    """

    multi_input: ClassVar = True
    reads_labels: ClassVar = False
    has_joint_loss: ClassVar = True  # if there is a third input

    def out_shape(self, in_shape: Any) -> Shape:
        if len(in_shape) not in (2, 3) or in_shape[2:] not in ((), ((1,),)):
            raise ShapeError(f"Comparison takes two inputs and perhaps (1,), got {in_shape}")
        expected = self.label_shape(in_shape[0])
        if prod(expected) != prod(in_shape[1]):
            raise ShapeError(f"Comparison of {in_shape[0]} needs {expected}, got {in_shape[1]}")
        return in_shape[0]

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return mask[0] if len(in_shape[0]) == 2 else None

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        losses = self.compare(x, run.mask if len(x[0].shape) == 3 else None)
        run.add_loss(losses if self.loss_weight == 1 else ops.mul(losses, self.loss_weight))
        return x[0]

    def compare(self, x: Value, mask: Value = None) -> Value:
        """Returns (batch,) losses of the inputs, without the weight."""
        z, labels, *counts = x
        expected = self.label_shape(tuple(z.shape[1:]))
        labels = ops.reshape(labels, (z.shape[0], *expected))
        labels = ops.cast(labels, np.int32) if self.label_kind == "class" else labels
        if not counts:
            return self.per_example(z, labels, mask)
        loss: Any = self.loss
        present = ops.greater(ops.abs(ops.reshape(counts[0], (-1,))), 0.0)
        losses = ops.mul(self.per_example(z, labels, mask, present), present)
        if self.reduction in OF_BATCH and not loss.of_sequence:
            return losses  # "valid" has divided by the number of places of those that count
        return ops.mul(losses, ops.div(float(losses.shape[0]), ops.maximum(ops.sum(present), 1.0)))


@dataclass(frozen=True, kw_only=True)
class GainComparison(Comparison):
    """z compared with labels by a matrix H: -sum over classes k of H[label][k] log softmax(z)_k.

    Each example brings its own H, or all read the same of a Learned; no gradient goes back to it.
    Caffe InfogainLoss with three bottoms.

    Shapes
    ------
    z (batch, units), (batch, T, units) or (batch, units, H, W); labels as of SoftmaxCrossEntropy;
    the matrices (batch, units, units), or any shape with as many numbers
    """

    def validate(self) -> None:
        super().validate()
        allowed = SoftmaxCrossEntropy(ignore_label=getattr(self.loss, "ignore_label", None))
        cure = "its matrices stand for all options but ignore_label"
        require(self, "loss", self.loss == allowed, "softmax_cross_entropy", cure)

    def out_shape(self, in_shape: Any) -> Shape:
        if len(in_shape) != 3:
            raise ShapeError(f"GainComparison takes three inputs, got {in_shape}")
        z, _, gain = in_shape
        units = z[units_axis(z)]
        if prod(gain) != units * units:
            raise ShapeError(f"GainComparison of {z} needs ({units}, {units}), got {gain}")
        return super().out_shape(in_shape[:2])

    def compare(self, x: Value, mask: Value = None) -> Value:
        z, labels, gain = x
        order = units_last(z)
        units, n = z.shape[order[-1]], z.shape[0]
        labels = ops.cast(ops.reshape(labels, (-1,)), np.int32)
        logs = ops.reshape(ops.log_softmax(flat(ops.transpose(z, order))), (n, -1, units))
        loss: Any = self.loss
        at = ops.one_hot(loss.replace_ignored(labels), units, z.dtype)
        gain = ops.reshape(ops.stop_gradient(gain), (n, units, units))
        rows = ops.matmul(ops.reshape(at, logs.shape), gain)
        each = ops.neg(ops.sum(ops.mul(rows, logs), 2))
        counted = self.counting(each, labels, mask)
        return self.reduce(each if counted is None else ops.mul(each, counted), counted)
