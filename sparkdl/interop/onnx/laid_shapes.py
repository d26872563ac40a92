"""Shapes of tensors whose batch is not the first axis."""

from onnx import TensorProto

ROWS = "rows"
WHOLE = "whole numbers"
CUT = "whole parts of floats"
TYPES = {TensorProto.FLOAT: 0, TensorProto.INT64: WHOLE, TensorProto.INT32: WHOLE}  # input types


class LaidShape(tuple):
    """The shape of an example in a tensor whose first axis is not the batch.

    `batch` is the index of the batch axis, or one of these. ROWS: the batch and the first axis of
    an example are merged, so a tensor of two axes holds sequences, and one of three the heads of
    attention. WHOLE: the batch is first, and the file has integers, such as indices of a table.
    CUT: as WHOLE, from floats of which only the integer parts count.
    """

    batch = 0


def laid(shape, batch):
    """Returns the shape of an example, as a LaidShape if the batch is not the first axis."""
    if batch == 0:
        return tuple(shape)
    made = LaidShape(shape)
    made.batch = batch
    return made


def batch_of(shape):
    return getattr(shape, "batch", 0)
