"""The axis of an example's channels or features."""

from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value


def channel_axis(in_shape: Shape) -> int:
    """Returns 0 for images (C, H, W) and volumes, the last axis for rows (F,), sequences (T, F)."""
    return 0 if len(in_shape) > 2 else len(in_shape) - 1


def channels_of(in_shape: Shape) -> Shape:
    """Returns (C,)."""
    return (in_shape[channel_axis(in_shape)],)


def broadcast_channels(values: Value, x: Value) -> Value:
    """Returns `values` (C,) reshaped to broadcast over the batch x."""
    axis = 1 + channel_axis(x.shape[1:])
    return ops.reshape(values, tuple(n if i == axis else 1 for i, n in enumerate(x.shape)))
