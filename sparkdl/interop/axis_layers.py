"""Layers and lengths along one axis, for formats that define them differently from sparkdl."""

from sparkdl.nn import layers as nn


def softmax_layers(kind, shape):
    """Returns the layers of a softmax or log_softmax along the last axis of examples of `shape`.

    Activation works along the channels, which come first in images, so images are converted to rows
    and back.
    """
    layer = nn.Activation(kind)
    if len(shape) < 3:
        return [layer]
    return [nn.Reshape(shape=(-1, shape[-1])), layer, nn.Reshape(shape=tuple(shape))]


def lengths_of_parts(length, size):
    """Returns the lengths of consecutive parts of `size`; the last one may be shorter."""
    return [min(size, length - start) for start in range(0, length, size)]
