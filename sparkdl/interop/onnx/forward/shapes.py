"""Operations that move numbers, or create arrays of a given shape."""

from math import prod

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from onnx import helper, numpy_helper

from sparkdl.errors import UnsupportedError

MOST = 2**30  # elements in an array created from a shape alone


def whole_numbers(values):
    """Returns the values of an array or list as a list of int."""
    return [int(value) for value in np.reshape(values, -1)]


def need_room(shape):
    """Raises UnsupportedError for shapes with more than MOST elements, lengths of 0 left out."""
    count = prod(n or 1 for n in whole_numbers(shape))
    if count > MOST:
        raise UnsupportedError(f"an array of {count} numbers, more than {MOST}, is not supported")


def reshape(x, shape, *, allowzero=0):
    shape = whole_numbers(shape)
    if not allowzero:
        shape = [x.shape[place] if n == 0 else n for place, n in enumerate(shape)]
    return x.reshape(shape)


def shape_of(x, *, start=0, end=None):
    return np.array(x.shape[start:end], np.int64)


def squeeze(x, axes=None):
    return np.squeeze(x, None if axes is None else tuple(whole_numbers(axes)))


def unsqueeze(x, axes):
    return np.expand_dims(x, tuple(whole_numbers(axes)))


def flatten(x, *, axis=1):
    front = int(np.prod(x.shape[:axis], dtype=np.int64))
    return x.reshape(front, x.size // front if front else -1)


def concat(*inputs, axis):
    return np.concatenate(inputs, axis)


def split(x, split=None, *, axis=0, num_outputs=None, outputs):
    """Returns parts of the given lengths, or equal parts with the last one shorter."""
    length = x.shape[axis]
    count = num_outputs or outputs
    parts = [-(-length // count)] * (count - 1) if split is None else whole_numbers(split)[:-1]
    if split is not None and (min(split) < 0 or sum(split) != length or len(split) != outputs):
        raise ValueError(f"{outputs} parts must be of {length} in all, got {split.tolist()}")
    return tuple(np.split(x, np.cumsum(parts, dtype=np.int64), axis))


def transpose(x, *, perm=None):
    return np.transpose(x, perm)


def expand(x, shape):
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(whole_numbers(shape))))


def tile(x, repeats):
    need_room([x.size, *repeats])
    return np.tile(x, whole_numbers(repeats))


def pad(x, pads, value=None, axes=None, *, mode="constant"):
    """Returns x padded, or cropped where an amount is negative."""
    amounts = whole_numbers(pads)
    axes = normalize_axis_tuple(range(x.ndim) if axes is None else whole_numbers(axes), x.ndim)
    pairs = [(0, 0)] * x.ndim
    for axis, before, after in zip(axes, amounts, amounts[len(amounts) // 2 :], strict=False):
        pairs[axis] = before, after
    if any(max(-b, 0) + max(-a, 0) > n for (b, a), n in zip(pairs, x.shape, strict=True)):
        raise ValueError(f"padding must leave axes of {x.shape}, got {pairs}")
    cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in zip(pairs, x.shape, strict=True))
    more = [(max(b, 0), max(a, 0)) for b, a in pairs]
    need_room([n + sum(pair) for n, pair in zip(x.shape, more, strict=True)])
    if mode != "constant":
        return np.pad(x[cut], more, {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}[mode])
    fill = np.zeros((), x.dtype) if value is None else np.reshape(value, ())
    return np.pad(x[cut], more, constant_values=fill)


def constant(*, value=None, **numbers):
    if value is not None:
        return numpy_helper.to_array(value)
    [(kind, given)] = numbers.items()
    return np.asarray(given, {"f": np.float32, "i": np.int64}[kind.removeprefix("value_")[0]])


def constant_of_shape(shape, *, value=None):
    need_room(shape)
    fill = np.zeros(1, np.float32) if value is None else numpy_helper.to_array(value)
    return np.full(whole_numbers(shape), fill[0], fill.dtype)


def eye_like(x, *, dtype=None, k=0):
    kind = x.dtype if dtype is None else helper.tensor_dtype_to_np_dtype(dtype)
    return np.eye(*x.shape, k=k, dtype=kind)


def arange(start, limit, delta, *, stash_type=1):
    start, limit, delta = (np.reshape(value, ()) for value in (start, limit, delta))
    count = max(int(np.ceil((limit.astype(float) - start.astype(float)) / delta.astype(float))), 0)
    need_room([count])
    return (start + np.arange(count) * delta).astype(start.dtype)


def triangle(x, k=0, *, upper=1):
    k = int(np.reshape(k, ()))
    return np.triu(x, k) if upper else np.tril(x, k)


def depth_to_space(x, *, blocksize, mode="DCR"):
    n, channels, rows, columns = x.shape
    b, left = blocksize, channels // blocksize**2
    if mode == "DCR":
        y = x.reshape(n, b, b, left, rows, columns).transpose(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, left, b, b, rows, columns).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(n, left, rows * b, columns * b)


def space_to_depth(x, *, blocksize, mode="DCR"):
    n, channels, rows, columns = x.shape
    b = blocksize
    cells = x.reshape(n, channels, rows // b, b, columns // b, b)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return cells.transpose(order).reshape(n, channels * b * b, rows // b, columns // b)


SHAPES = {
    "Concat": concat,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "EyeLike": eye_like,
    "Flatten": flatten,
    "Identity": lambda x: x,
    "Pad": pad,
    "Range": arange,
    "Reshape": reshape,
    "Shape": shape_of,
    "Size": lambda x: np.array(x.size, np.int64),
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Trilu": triangle,
    "Unsqueeze": unsqueeze,
}
