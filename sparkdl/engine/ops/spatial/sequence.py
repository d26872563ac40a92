"""Sequences as images of one row, so that image operations work on them.

Axes: N examples, T steps, F features, which are the channels of the image.
"""

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, register
from sparkdl.errors import ShapeError


@register
@dataclass(frozen=True)
class SequenceToImageOp(Op):
    """x (N, T, F) as (N, F, 1, T): the same memory if images are stored channels last."""

    def shape(self, x):
        if len(x.shape) != 3:
            raise ShapeError(f"a sequence (N, T, F) becomes an image, got {tuple(x.shape)}")
        n, steps, features = x.shape
        return Spec((n, features, 1, steps), x.dtype)

    def reference(self, x):
        n, steps, features = x.shape
        return x.reshape(n, 1, steps, features).transpose(0, 3, 1, 2)

    def gradient(self, gy, x, y):
        return (image_to_sequence(gy),)


@register
@dataclass(frozen=True)
class ImageToSequenceOp(Op):
    """x (N, F, 1, T) as (N, T, F), the inverse of SequenceToImageOp."""

    def shape(self, x):
        if len(x.shape) != 4 or x.shape[2] != 1:
            raise ShapeError(f"an image (N, F, 1, T) becomes a sequence, got {tuple(x.shape)}")
        n, features, _, steps = x.shape
        return Spec((n, steps, features), x.dtype)

    def reference(self, x):
        return x[:, :, 0].transpose(0, 2, 1)

    def gradient(self, gy, x, y):
        return (sequence_to_image(gy),)


sequence_to_image, image_to_sequence = SequenceToImageOp(), ImageToSequenceOp()
