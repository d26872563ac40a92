"""Numbers moved: the same ones under other shapes, in other orders, parts and joints of them."""

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.graph import Tensor
from sparkdl.engine.ops.shape import ReshapeOp
from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.forward import shapes as numpy_shapes
from sparkdl.interop.onnx.forward.shapes import whole_numbers


def reshape(x, shape):
    """Returns x under another shape; of two reshapes the first is forgotten."""
    if x.node is not None and isinstance(x.node.op, ReshapeOp):
        x = x.node.inputs[0]
    return ops.reshape(x, shape)


def as_numpy(rule):
    """Returns the rule of what numpy would only reshape: the shape is that of an array alike."""

    def compute(x, *inputs, **options):
        if any(isinstance(each, Tensor) for each in inputs):
            raise UnsupportedError("a shape that follows from numbers")
        empty = np.broadcast_to(np.float32(0), x.shape)
        return reshape(x, rule(empty, *inputs, **options).shape)

    return compute


def transpose(x, *, perm=None):
    return ops.transpose(x, perm or range(x.ndim)[::-1])


def concat(*inputs, axis):
    return ops.concat(list(inputs), axis % inputs[0].ndim)


def slice_axes(x, starts, ends, axes=None, steps=None):
    given = [each for each in (starts, ends, axes, steps) if each is not None]
    if any(isinstance(each, Tensor) for each in given):
        raise UnsupportedError("places that follow from numbers")
    starts, ends = whole_numbers(starts), whole_numbers(ends)
    axes = range(len(starts)) if axes is None else whole_numbers(axes)
    if steps is not None and set(whole_numbers(steps)) != {1}:
        raise UnsupportedError("steps")
    cut = [slice(0, n) for n in x.shape]
    for axis, start, end in zip(axes, starts, ends, strict=True):
        start, end, _ = slice(start, end).indices(x.shape[axis])
        cut[axis] = slice(start, max(start, end))
    return ops.slice(x, [each.start for each in cut], [each.stop for each in cut])


def expand(x, shape):
    if isinstance(shape, Tensor):
        raise UnsupportedError("a shape that follows from numbers")
    return ops.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(whole_numbers(shape))))


def pad(x, pads, value=None, axes=None, *, mode="constant"):
    if isinstance(pads, Tensor) or axes is not None or mode != "constant":
        raise UnsupportedError("pads but zeros along all axes")
    if value is not None and np.any(np.asarray(value) != 0):
        raise UnsupportedError("pads but zeros")
    amounts = whole_numbers(pads)
    return ops.pad(x, amounts[: x.ndim], amounts[x.ndim :])


ARRANGEMENTS = {
    "Concat": concat,
    "Expand": expand,
    "Flatten": as_numpy(numpy_shapes.flatten),
    "Identity": lambda x: x,
    "Pad": pad,
    "Reshape": as_numpy(numpy_shapes.reshape),
    "Slice": slice_axes,
    "Squeeze": as_numpy(numpy_shapes.squeeze),
    "Transpose": transpose,
    "Unsqueeze": as_numpy(numpy_shapes.unsqueeze),
}
