"""Position of the axis that holds the channels or features of an example."""

from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value


def channel_axis(in_shape: Shape) -> int:
    """Returns 0 for images (C, H, W) and volumes, the last for rows (F,) and sequences (T, F)."""
    return 0 if len(in_shape) > 2 else len(in_shape) - 1


def channels_of(in_shape: Shape) -> Shape:
    """(C,)"""
    return (in_shape[channel_axis(in_shape)],)


def broadcast_channels(values: Value, x: Value) -> Value:
    """Returns `values` (C,) shaped so that they broadcast over the batch x."""
    axis = 1 + channel_axis(x.shape[1:])
    return ops.reshape(values, tuple(n if i == axis else 1 for i, n in enumerate(x.shape)))
