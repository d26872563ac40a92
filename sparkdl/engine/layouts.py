"""Rewrites for backends that store images and volumes channels last."""

from dataclasses import dataclass

from sparkdl.engine.fusion import fuse
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.shape import ReshapeOp, reshape
from sparkdl.engine.ops.spatial.sequence import ImageToSequenceOp, SequenceToImageOp


@dataclass(frozen=True)
class RelayoutOp(Op):
    """A reshape to or from images or volumes, a real copy because the memory order differs."""

    to: tuple[int, ...]

    def shape(self, x):
        return Spec(self.to, x.dtype)

    def decompose(self, x):
        return reshape(x, self.to)


@dataclass(frozen=True)
class ImageViewOp(SequenceToImageOp):
    """SequenceToImageOp without work: channels-last images have the layout of sequences."""

    view = True


@dataclass(frozen=True)
class SequenceViewOp(ImageToSequenceOp):
    """ImageToSequenceOp without work."""

    view = True


def sequences_in_place(graph):
    """Turns sequences and one-row images into views of each other where a program places both."""
    outputs = set(graph.outputs.values())  # these may be in the caller's memory, in plain order

    def rule(node, inputs, uses):
        source = node.inputs[0] if node.inputs else None
        if isinstance(node.op, SequenceToImageOp) and source.value is None:
            return ImageViewOp()(*inputs)
        if isinstance(node.op, ImageToSequenceOp) and source.node and source not in outputs:
            return None if source.node.op.view else SequenceViewOp()(*inputs)

    return fuse(graph, (rule,))


def relayouts(graph):
    """Turns reshapes between images or volumes and other shapes into copies."""

    def rule(node, inputs, uses):
        x, y = node.inputs[0].shape, node.outputs[0].shape
        same = (is_line(x) and is_line(y)) or keeps_channels(x, y)
        if isinstance(node.op, ReshapeOp) and {len(x), len(y)} & {4, 5} and not same:
            return RelayoutOp(node.op.to)(*inputs)

    return fuse(graph, (rule,))


def keeps_channels(x, y):
    """Returns whether both shapes are images or volumes with equal batch and channels."""
    return {len(x), len(y)} <= {4, 5} and x[:2] == y[:2]


def is_line(shape):
    """Returns whether at most one axis is longer than 1, so that all memory orders agree."""
    return sum(n > 1 for n in shape) < 2
