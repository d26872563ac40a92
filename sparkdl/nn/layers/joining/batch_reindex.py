"""Reordering of the examples of a batch."""

from typing import Any

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.joining.merge import JoiningLayer


@dataclass(frozen=True, kw_only=True)
class BatchReindex(JoiningLayer):
    """Example i of y, with its mask, is example index[i] of x. Caffe layer BatchReindex.

    An index that the batch does not have is a DataError when it is run.

    Shapes
    ------
    x (batch, ...), index (batch, 1) whole numbers; y (batch, ...)
    """

    def out_shape(self, in_shape: Any) -> Shape:
        if len(in_shape) != 2 or in_shape[1] != (1,):
            raise ShapeError(f"BatchReindex takes x and one index for each example, got {in_shape}")
        return in_shape[0]

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return None  # it depends on the index: see forward

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        x, index = x
        index = ops.cast(ops.reshape(index, (-1,)), np.int32)
        if run.mask is not None:
            run.mask_output(ops.gather(run.mask, index))
        return ops.gather(x, index)
