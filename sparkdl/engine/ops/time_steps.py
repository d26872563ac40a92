"""Operations along the steps of sequences (N, T, ...)."""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.ops.base import Op, register
from sparkdl.errors import ShapeError


@register
@dataclass(frozen=True)
class ReverseTimeOp(Op):
    """The steps in reverse order; with a mask (N, T), only among steps where it is not 0."""

    def shape(self, x, mask=None):
        if len(x.shape) < 2 or (mask is not None and mask.shape != x.shape[:2]):
            with_mask = "" if mask is None else f" with a mask {mask.shape}"
            raise ShapeError(f"reverse_time takes sequences (N, T, ...), got {x.shape}{with_mask}")
        return x

    def reference(self, x, mask=None):
        if mask is None:
            return x[:, ::-1]
        places = np.tile(np.arange(x.shape[1]), (len(x), 1))
        for row, present in zip(places, mask != 0, strict=True):
            row[present] = row[present][::-1]
        return np.take_along_axis(x, places.reshape(*places.shape, *[1] * (x.ndim - 2)), axis=1)

    def gradient(self, gy, x, *mask_and_y):
        mask = mask_and_y[:-1]
        return (ReverseTimeOp()(gy, *mask), *(None for _ in mask))


def reverse_time(x, mask=None):
    """Reverses the steps of sequences x (N, T, ...); padding, where mask is 0, stays in place."""
    return ReverseTimeOp()(x) if mask is None else ReverseTimeOp()(x, mask)
