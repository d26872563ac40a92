"""Layers and lengths along one axis that several formats have, and ours has otherwise."""

from sparkdl.nn import layers as nn


def softmax_layers(kind, shape):
    """Returns the layers of a softmax, or log_softmax, along the last axis of examples of `shape`.

    Ours is along the channels, which images have in front: there rows are made and undone.
    """
    layer = nn.Activation(kind)
    if len(shape) < 3:
        return [layer]
    return [nn.Reshape(shape=(-1, shape[-1])), layer, nn.Reshape(shape=tuple(shape))]


def lengths_of_parts(length, size):
    """Returns the lengths of parts of `size` behind each other; the last one may be shorter."""
    return [min(size, length - start) for start in range(0, length, size)]
