"""Rewrites for backends whose images and volumes lie channels last in memory."""

from dataclasses import dataclass

from sparkdl.engine.fusion import fuse
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.shape import ReshapeOp, reshape
from sparkdl.engine.ops.spatial.sequence import ImageToSequenceOp, SequenceToImageOp


@dataclass(frozen=True)
class RelayoutOp(Op):
    """A reshape to or from images or volumes: their order in memory differs, so it is no view."""

    to: tuple[int, ...]

    def shape(self, x):
        return Spec(self.to, x.dtype)

    def decompose(self, x):
        return reshape(x, self.to)


@dataclass(frozen=True)
class ImageViewOp(SequenceToImageOp):
    """The same without work: images lie channels last, which is how a sequence lies."""

    view = True


@dataclass(frozen=True)
class SequenceViewOp(ImageToSequenceOp):
    """The way back without work."""

    view = True


def sequences_in_place(graph):
    """Makes sequences and images of one row the same memory, where a program places both."""
    outputs = set(graph.outputs.values())  # these may lie in memory of the caller's, in plain order

    def rule(node, inputs, uses):
        source = node.inputs[0] if node.inputs else None
        if isinstance(node.op, SequenceToImageOp) and source.value is None:
            return ImageViewOp()(*inputs)
        if isinstance(node.op, ImageToSequenceOp) and source.node and source not in outputs:
            return None if source.node.op.view else SequenceViewOp()(*inputs)

    return fuse(graph, (rule,))


def relayouts(graph):
    """Makes reshapes between images or volumes and anything else work to do."""

    def rule(node, inputs, uses):
        x, y = node.inputs[0].shape, node.outputs[0].shape
        same = (is_line(x) and is_line(y)) or keeps_channels(x, y)
        if isinstance(node.op, ReshapeOp) and {len(x), len(y)} & {4, 5} and not same:
            return RelayoutOp(node.op.to)(*inputs)

    return fuse(graph, (rule,))


def keeps_channels(x, y):
    """Returns whether both are images or volumes with the same channels for each example."""
    return {len(x), len(y)} <= {4, 5} and x[:2] == y[:2]


def is_line(shape):
    """Returns whether numbers of this shape lie along one axis at most, in every order the same."""
    return sum(n > 1 for n in shape) < 2
