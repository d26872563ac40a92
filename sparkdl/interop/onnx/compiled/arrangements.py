"""Rearrangements: reshapes, transposes, slices and concatenations.

Images are stored channels last, so a sequence (N, T, F) is an image (N, F, 1, T) without any copy.
Files express this by a transpose and axes of length 1, which these functions detect.
"""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from sparkdl.engine import ops
from sparkdl.engine.graph import Tensor
from sparkdl.engine.ops.shape import ReshapeOp, TransposeOp
from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.forward import shapes as numpy_shapes
from sparkdl.interop.onnx.forward.shapes import whole_numbers

TURN = (0, 2, 1)  # transposition of sequences


def is_made_by(x, kind):
    return x.node is not None and isinstance(x.node.op, kind)


def reshape(x, shape):
    """Reshapes x; of two successive reshapes only the last is kept."""
    if is_made_by(x, ReshapeOp):
        x = x.node.inputs[0]
    turned = is_made_by(x, TransposeOp) and x.node.op.axes == TURN
    if turned and is_image_of(x.shape, shape):
        x = ops.sequence_to_image(x.node.inputs[0])
    return ops.reshape(x, shape)


def is_image_of(sequence, shape):
    """Returns whether a shape is that of images with one row or column, and channels (N, F, T)."""
    return (
        (len(sequence), len(shape)) == (3, 4)
        and tuple(shape[:2]) == tuple(sequence[:2])
        and 1 in shape[2:]
    )


def as_numpy(rule):
    """Returns the rule of an operation that only reshapes; numpy computes the new shape."""

    def compute(x, *inputs, **options):
        if any(isinstance(each, Tensor) for each in inputs):
            raise UnsupportedError("a shape that depends on values")
        empty = np.broadcast_to(np.float32(0), x.shape)
        return reshape(x, rule(empty, *inputs, **options).shape)

    return compute


def transpose(x, *, perm=None):
    """Transposes x; a transpose that only moves axes of length 1 is a reshape."""
    perm = list(range(x.ndim)[::-1] if perm is None else perm)
    shape = tuple(x.shape[axis] for axis in perm)
    long = [axis for axis in perm if x.shape[axis] > 1]
    if long == sorted(long):
        return reshape(x, shape)
    kept = sorted(drop_ones(perm, x.shape))
    few = reshape(x, [x.shape[axis] for axis in kept])
    order = tuple(kept.index(axis) for axis in perm if axis in kept)
    image = few.node.inputs[0] if is_made_by(few, ReshapeOp) else few
    if order == TURN and is_image_of(few.shape, image.shape):
        n, features, steps = few.shape
        return reshape(ops.image_to_sequence(reshape(image, (n, features, 1, steps))), shape)
    return reshape(ops.transpose(few, order), shape)


def drop_ones(axes, shape):
    """Returns axes without trailing ones of length 1, but at least 3 axes."""
    kept = list(axes)
    for axis in sorted(axes, reverse=True):
        if shape[axis] == 1 and len(kept) > 3:
            kept.remove(axis)
    return kept


def concat(*inputs, axis):
    return ops.concat(list(inputs), normalize_axis_index(axis, inputs[0].ndim))


def slice_axes(x, starts, ends, axes=None, steps=None):
    given = [each for each in (starts, ends, axes, steps) if each is not None]
    if any(isinstance(each, Tensor) for each in given):
        raise UnsupportedError("indices that depend on values")
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
        raise UnsupportedError("a shape that depends on values")
    return ops.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(whole_numbers(shape))))


def pad(x, pads, value=None, axes=None, *, mode="constant"):
    if isinstance(pads, Tensor) or axes is not None or mode != "constant":
        raise UnsupportedError("padding other than zeros along all axes")
    if value is not None and np.any(np.asarray(value) != 0):
        raise UnsupportedError("padding other than zeros")
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
