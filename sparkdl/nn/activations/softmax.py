"""Activation functions of all features, or of all channels of images, together."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.nn.activations.base import ActivationFunction


@dataclass(frozen=True, kw_only=True)
class Softmax(ActivationFunction, name="softmax"):
    """e^x over its sum: over the features of rows, over the channels of images (N, C, H, W)."""

    def apply(self, x):
        return over_channels(ops.softmax, x)


@dataclass(frozen=True, kw_only=True)
class LogSoftmax(ActivationFunction, name="log_softmax"):
    """The logarithm of softmax: over the features of rows, over the channels of images."""

    def apply(self, x):
        return over_channels(ops.log_softmax, x)


def over_channels(function, x):
    """`function`, which works on the last axis, of the features of rows or of images' channels."""
    if len(x.shape) != 4:
        return function(x)
    return ops.transpose(function(ops.transpose(x, (0, 2, 3, 1))), (0, 3, 1, 2))
