"""Softmax functions, over features or over the channels of images and volumes."""

from collections.abc import Callable
from typing import Any

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.activations.base import ActivationFunction
from sparkdl.nn.hints import Value


@dataclass(frozen=True, kw_only=True)
class Softmax(ActivationFunction, name="softmax"):
    """e^x over its sum: over features, or over the channels of images and volumes (N, C, ...)."""

    def apply(self, x: Value) -> Value:
        return over_channels(ops.softmax, x)


@dataclass(frozen=True, kw_only=True)
class LogSoftmax(ActivationFunction, name="log_softmax"):
    """The logarithm of softmax, over the same axis."""

    def apply(self, x: Value) -> Value:
        return over_channels(ops.log_softmax, x)


def over_channels(function: Callable[[Any], Any], x: Value) -> Value:
    """Applies `function`, which works on the last axis, to features or channels."""
    rank = len(x.shape)
    if rank < 4:
        return function(x)
    behind, back = (0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))
    return ops.transpose(function(ops.transpose(x, behind)), back)
