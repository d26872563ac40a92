"""Softmax and cross entropies."""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.activation import sigmoid
from sparkdl.engine.ops.base import Op, register
from sparkdl.engine.ops.elementwise import ElementwiseOp, exp, mul, neg, sub
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import reshape
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class AlongRowsOp(Op):
    """Base of the shape-preserving operations along the last axis."""

    floating = True

    def shape(self, x):
        if not x.shape or x.shape[-1] == 0:
            raise ShapeError(f"{self.kind} needs rows of at least one number, got {x.shape}")
        return x


@register
class SoftmaxOp(AlongRowsOp):
    """exp(x) over its sum along the last axis."""

    def reference(self, x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def gradient(self, gy, x, y):
        return (SoftmaxGradOp()(gy, y),)


@register
class LogSoftmaxOp(AlongRowsOp):
    """The logarithm of the softmax along the last axis."""

    def reference(self, x):
        x = x - x.max(axis=-1, keepdims=True)
        return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))

    def gradient(self, gy, x, y):
        return (LogSoftmaxGradOp()(gy, y),)


@dataclass(frozen=True)
class AlongRowsGradOp(Op):
    """Base of their gradients, computed from gy and y."""

    floating = True

    def shape(self, gy, y):
        return self.same(gy, y)


@register
class SoftmaxGradOp(AlongRowsGradOp):
    """y (gy - the sum of gy y along the last axis)"""

    def decompose(self, gy, y):
        along = mul(gy, y)
        return sub(along, mul(y, sum_along(along, -1, keepdims=True)))


@register
class LogSoftmaxGradOp(AlongRowsGradOp):
    """gy - exp(y) times the sum of gy along the last axis"""

    def decompose(self, gy, y):
        return sub(gy, mul(exp(y), sum_along(gy, -1, keepdims=True)))


@register
class SoftmaxCrossEntropyOp(Op):
    """Cross entropy of integer labels under softmax(logits), one number per example, in nats.

    Shapes
    ------
    logits (batch, classes) float, labels (batch,) int in [0, classes); loss (batch,) float, NaN for
    a label outside the classes

    References
    ----------
    Bishop, Pattern Recognition and Machine Learning (2006), eq. 4.108 and 4.109.
    Caffe SoftmaxWithLoss with normalization VALID is the mean of this.
    """

    floating = True

    def shape(self, logits, labels):
        if len(logits.shape) != 2 or logits.shape[:1] != labels.shape:
            raise ShapeError(
                f"logits {logits.shape} need labels {logits.shape[:1]}, got {labels.shape}"
            )
        if np.dtype(labels.dtype).kind not in "iu":
            raise ShapeError(f"labels need an integer type, got {labels.dtype}")
        return Spec(labels.shape, LogSoftmaxOp().shape(logits).dtype)

    def reference(self, logits, labels):
        known = (labels >= 0) & (labels < logits.shape[1])
        logp = LogSoftmaxOp().reference(logits)[np.arange(len(labels)), np.where(known, labels, 0)]
        return np.where(known, -logp, logits.dtype.type(np.nan))

    def gradient(self, gy, logits, labels, loss):
        return SoftmaxCrossEntropyGradOp()(gy, logits, labels), None


@register
class SoftmaxCrossEntropyGradOp(Op):
    """gy (softmax(logits) - one_hot(labels)), for gy (batch,); shapes of SoftmaxCrossEntropyOp."""

    floating = True

    def shape(self, gy, logits, labels):
        losses = SoftmaxCrossEntropyOp().shape(logits, labels)
        if gy.shape != losses.shape:
            raise ShapeError(f"the gradient of losses {losses.shape} needs as many, got {gy.shape}")
        return logits

    def reference(self, gy, logits, labels):
        y = SoftmaxOp().reference(logits)
        [known] = np.nonzero((labels >= 0) & (labels < logits.shape[1]))
        y[known, labels[known]] -= 1
        return gy[:, None] * y

    def decompose(self, gy, logits, labels):
        distance = sub(softmax(logits), one_hot(labels, logits.shape[1], logits.dtype))
        return mul(reshape(gy, (*gy.shape, 1)), distance)


@register
@dataclass(frozen=True)
class OneHotOp(Op):
    """One row per label, with 1 at the label and 0 elsewhere."""

    classes: int
    dtype: str = "float32"

    def shape(self, labels):
        return Spec((*labels.shape, self.classes), self.dtype)

    def reference(self, labels):
        return (labels[..., None] == np.arange(self.classes)).astype(self.dtype)

    def gradient(self, gy, labels, y):
        return (None,)


@register
class SigmoidCrossEntropyOp(ElementwiseOp):
    """Cross entropy of targets in [0, 1] under sigmoid(logits), element by element, in nats."""

    floating = True

    def shape(self, logits, targets):
        return Spec(self.same(logits, targets).shape, logits.dtype)

    def reference(self, logits, targets):
        stable = np.log1p(np.exp(-np.abs(logits)))
        return np.maximum(logits, 0) - logits * targets + stable

    def gradient(self, gy, logits, targets, loss):
        return mul(gy, sub(sigmoid(logits), targets)), mul(gy, neg(logits))


softmax, log_softmax = SoftmaxOp(), LogSoftmaxOp()
softmax_cross_entropy, sigmoid_cross_entropy = SoftmaxCrossEntropyOp(), SigmoidCrossEntropyOp()


def one_hot(labels, classes, dtype="float32"):
    """Returns one row per label, with 1 at the label and 0 elsewhere."""
    return OneHotOp(int(classes), np.dtype(dtype).name)(labels)
