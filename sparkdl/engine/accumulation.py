"""The sum of the gradients of one tensor: those of its parts are put side by side.

The gradient of a slice is an array among zeros. Those of a recurrent layer's gates, of its steps,
of the ends of a sequence do not overlap: one ConcatOp of them takes the place of a pass over zeros
for each, and of another to add it.
"""

from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from sparkdl.engine.graph import Tensor
from sparkdl.engine.ops.elementwise import add
from sparkdl.engine.ops.shape import PadOp, concat, pad
from sparkdl.engine.shared_weights import add_products


class GradientPiece(NamedTuple):
    """`x` among zeros, from `start` on."""

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
    """Sums tensors of one shape, in order, except where three of different places meet.

    Those of one place are added up first, then what overlaps them.
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
    """Returns one piece for each place of the gradients, the sum of what lies there."""
    sums = {}
    for grad in grads:
        start, x = unpad(grad)
        if x.spec.size:
            sums.setdefault((start, x.shape), []).append(x)
    return [GradientPiece(start, add_products(xs)) for (start, _), xs in sums.items()]


def unpad(grad):
    """Returns (start, array): the part of a tensor without the zeros it was padded with."""
    if grad.node is not None and isinstance(grad.node.op, PadOp):
        return grad.node.op.before, grad.node.inputs[0]
    return (0,) * grad.ndim, grad


def group_into_lines(pieces, axis):
    """Returns lists of pieces that lie in a row along an axis, and alike on all others."""
    groups = {}
    for piece in sorted(pieces, key=lambda p: p.start[axis]):
        row = groups.setdefault(piece.other_axes(axis), [])
        line = next((line for line in row if line[-1].stop[axis] <= piece.start[axis]), None)
        if line is None:
            row.append(line := [])
        line.append(piece)
    return [line for row in groups.values() for line in row]


def join_pieces(line, axis):
    """Returns a line of pieces as one, with zeros in the gaps."""
    if len(line) == 1:
        return line[0]
    gaps = [after.start[axis] - before.stop[axis] for before, after in pairwise(line)]
    xs = [pad_behind(piece.x, axis, gap) for piece, gap in zip(line, [*gaps, 0], strict=True)]
    return GradientPiece(line[0].start, concat(xs, axis))


def pad_behind(x, axis, gap):
    """Returns x with so many zeros behind it along an axis."""
    behind = [0] * x.ndim
    behind[axis] = gap
    return pad(x, [0] * x.ndim, behind)


def pad_to_shape(piece, shape):
    """Returns a piece with all the zeros around it."""
    after = (n - stop for n, stop in zip(shape, piece.stop, strict=True))
    return pad(piece.x, piece.start, after)
