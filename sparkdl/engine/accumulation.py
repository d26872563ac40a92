"""The total gradient of a tensor: gradients of disjoint parts are concatenated, not added.

The gradient of a slice is an array padded with zeros. The slices for the gates of a recurrent
layer, its steps or the ends of a sequence do not overlap, so one ConcatOp replaces, for each slice,
a pass that writes zeros and another that adds.
"""

from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from sparkdl.engine.graph import Tensor
from sparkdl.engine.ops.elementwise import add
from sparkdl.engine.ops.shape import PadOp, concat, pad
from sparkdl.engine.shared_weights import add_products


class GradientPiece(NamedTuple):
    """A gradient that is `x` at offset `start` and zero elsewhere."""

    start: tuple[int, ...]
    x: Tensor

    @property
    def stop(self):
        return tuple(a + n for a, n in zip(self.start, self.x.shape, strict=True))

    def other_axes(self, axis):
        """Returns the bounds on all axes but one."""
        bounds = zip(self.start, self.stop, strict=True)
        return tuple(b for i, b in enumerate(bounds) if i != axis)


def total(grads):
    """Sums tensors of one shape in order, concatenating disjoint pieces instead of adding them.

    Gradients of the same place are added first, then pieces that overlap.
    """
    if len(grads) == 1:
        return grads[0]
    pieces, shape = sum_by_place(grads), grads[0].shape
    if not pieces:
        return grads[0]
    for axis in range(len(shape)):
        pieces = [join_pieces(line, axis) for line in group_into_lines(pieces, axis)]
    return reduce(add, [pad_to_shape(piece, shape) for piece in pieces])


def sum_by_place(grads):
    """Returns one piece per place, the sum of all gradients at that place."""
    sums = {}
    for grad in grads:
        start, x = unpad(grad)
        if x.spec.size:
            sums.setdefault((start, x.shape), []).append(x)
    return [GradientPiece(start, add_products(xs)) for (start, _), xs in sums.items()]


def unpad(grad):
    """Returns (start, array): a tensor without its zero padding, and the offset of the rest."""
    if grad.node is not None and isinstance(grad.node.op, PadOp):
        return grad.node.op.before, grad.node.inputs[0]
    return (0,) * grad.ndim, grad


def group_into_lines(pieces, axis):
    """Returns lists of pieces that follow each other along an axis and agree on all other axes."""
    groups = {}
    for piece in sorted(pieces, key=lambda p: p.start[axis]):
        row = groups.setdefault(piece.other_axes(axis), [])
        line = next((line for line in row if line[-1].stop[axis] <= piece.start[axis]), None)
        if line is None:
            row.append(line := [])
        line.append(piece)
    return [line for row in groups.values() for line in row]


def join_pieces(line, axis):
    """Joins a line of pieces into one, with zeros in the gaps."""
    if len(line) == 1:
        return line[0]
    gaps = [after.start[axis] - before.stop[axis] for before, after in pairwise(line)]
    xs = [pad_behind(piece.x, axis, gap) for piece, gap in zip(line, [*gaps, 0], strict=True)]
    return GradientPiece(line[0].start, concat(xs, axis))


def pad_behind(x, axis, gap):
    """Pads x with `gap` zeros at the end of an axis."""
    behind = [0] * x.ndim
    behind[axis] = gap
    return pad(x, [0] * x.ndim, behind)


def pad_to_shape(piece, shape):
    """Pads a piece with zeros to the full shape."""
    after = (n - stop for n, stop in zip(shape, piece.stop, strict=True))
    return pad(piece.x, piece.start, after)
