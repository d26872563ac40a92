"""Tensors that hold examples in another way than one behind the other along the first axis."""

from onnx import TensorProto

ROWS = "rows"
WHOLE = "whole numbers"
CUT = "whole parts of floats"
TYPES = {TensorProto.FLOAT: 0, TensorProto.INT64: WHOLE, TensorProto.INT32: WHOLE}  # that are read


class LaidShape(tuple):
    """The shape of an example in a tensor of which the first axis is not that of the batch.

    `batch` is the place of that axis in the tensor, or ROWS: the first axes of all examples are one
    axis with it, so that a tensor of two axes holds sequences, or one of three the heads of
    attention. WHOLE: the axis is the first, and the numbers are integers in the file, as places in
    a table are. CUT: the same, of which only the whole parts count: the places of a table.
    """

    batch = 0


def laid(shape, batch):
    """Returns a shape of an example as that of a tensor whose batch lies elsewhere."""
    if batch == 0:
        return tuple(shape)
    made = LaidShape(shape)
    made.batch = batch
    return made


def batch_of(shape):
    return getattr(shape, "batch", 0)
