"""Normalizations."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from onnx import TensorProto, helper

from sparkdl.interop.onnx.forward.convolutions import by_channel


def batch_normalization(
    x, scale, b, mean, variance, *, epsilon=1e-5, momentum=0.9, training_mode=0
):
    """Returns y, or in training (y, running mean, running variance)."""
    running = mean, variance
    if training_mode:
        over = (0, *range(2, x.ndim))
        mean, variance = x.mean(axis=over), x.var(axis=over)
    moments = [by_channel(each, x.ndim) for each in (mean, variance, scale, b)]
    y = (x - moments[0]) / np.sqrt(moments[1] + epsilon) * moments[2] + moments[3]
    if not training_mode:
        return y.astype(x.dtype)
    mixed = [
        (old * momentum + new * (1 - momentum)).astype(old.dtype)
        for old, new in zip(running, (mean, variance), strict=True)
    ]
    return y.astype(x.dtype), *mixed


def instance_normalization(x, scale, b, *, epsilon=1e-5):
    y = standardized(x, tuple(range(2, x.ndim)), epsilon)[0]
    return (y * by_channel(scale, x.ndim) + by_channel(b, x.ndim)).astype(x.dtype)


def group_normalization(x, scale, b, *, epsilon=1e-5, num_groups, stash_type=1):
    """Normalizes groups of channels; scale and b are per channel, before opset 21 per group."""
    kind = helper.tensor_dtype_to_np_dtype(stash_type)
    grouped = x.reshape(len(x), num_groups, -1).astype(kind)
    y = standardized(grouped, (2,), epsilon)[0].astype(x.dtype).reshape(x.shape)
    wide = x.shape[1] // len(scale)
    scale, b = (by_channel(np.repeat(each, wide), x.ndim) for each in (scale, b))
    return (y * scale + b).astype(x.dtype)


def layer_normalization(x, scale, b=None, *, axis=-1, epsilon=1e-5, stash_type=1):
    """Returns (y, mean, 1 / standard deviation) over the axes from `axis` on."""
    kind = helper.tensor_dtype_to_np_dtype(stash_type)
    over = tuple(range(normalize_axis_index(axis, x.ndim), x.ndim))
    y, mean, inverse = standardized(x.astype(kind), over, epsilon)
    y = y.astype(x.dtype) * scale
    return (y if b is None else y + b).astype(x.dtype), mean, inverse


def standardized(x, axes, epsilon):
    """Returns ((x - mean) / deviation, mean, 1 / deviation)."""
    mean = x.mean(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + np.asarray(epsilon, x.dtype))
    return (x - mean) * inverse, mean, inverse


def rms_normalization(x, scale, *, axis=-1, epsilon=1e-5, stash_type=TensorProto.FLOAT):
    wide = x.astype(helper.tensor_dtype_to_np_dtype(stash_type))
    over = tuple(range(normalize_axis_index(axis, x.ndim), x.ndim))
    square = np.mean(np.square(wide), axis=over, keepdims=True)
    y = wide / np.sqrt(square + np.asarray(epsilon, wide.dtype))
    return (y.astype(x.dtype) * scale).astype(scale.dtype)


def lp_normalization(x, *, axis=-1, p=2):
    """Returns x divided by its norm, and 0 where the norm is 0."""
    norm = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
    return np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)).astype(x.dtype)


def mean_variance_normalization(x, *, axes=(0, 2, 3)):
    wide = x.astype(np.float64)  # else 1e-9 is less than what rounding leaves of a constant
    mean, deviation = (find(wide, axis=tuple(axes), keepdims=True) for find in (np.mean, np.std))
    return ((wide - mean) / (deviation + 1e-9)).astype(x.dtype)


def lrn(x, *, alpha=1e-4, beta=0.75, bias=1.0, size):
    """Returns x / (bias + alpha * mean square of neighboring channels) ** beta."""
    before = (size - 1) // 2
    ends = tuple(min(n, x.shape[1]) for n in (before, size - 1 - before))  # zeros lie beyond
    padded = np.pad(np.square(x), [(0, 0), ends, *[(0, 0)] * (x.ndim - 2)])
    near = np.lib.stride_tricks.sliding_window_view(padded, sum(ends) + 1, 1)
    return (x / (bias + alpha / size * near.sum(axis=-1)) ** beta).astype(x.dtype)


NORMALIZATIONS = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LRN": lrn,
    "LayerNormalization": layer_normalization,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "RMSNormalization": rms_normalization,
}
