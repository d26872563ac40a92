"""Max pooling that records where its maxima are, for backends that support it.

The gradient then need not search for them, and neither x nor y is kept for it.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from sparkdl.engine.fusion import fuse
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.spatial.pool import MaxPoolGradOp, MaxPoolOp, PoolOp


@dataclass(frozen=True)
class MaxPoolWithPlacesOp(PoolOp):
    """(y, the position of each maximum in its window), which saves the gradient a search."""

    @property
    def place_type(self):
        """The integer type of a position, as oneDNN chooses it."""
        return "uint8" if prod(self.size) <= 255 else "int32"

    def shape(self, x):
        y = super().shape(x)
        return y, Spec(y.shape, self.place_type)

    def reference(self, x):
        y = MaxPoolOp(*self.options()).reference(x)
        places = np.zeros(y.shape, self.place_type)
        for place, (_, wins) in enumerate(self.winners(x, y)):
            places[wins] = place
        return y, places


@dataclass(frozen=True)
class MaxPoolToPlacesOp(PoolOp):
    """Routes the gy of each window to the position of its maximum, in a space of `image`."""

    image: tuple[int, ...] = ()

    def shape(self, gy, places):
        return Spec((*gy.shape[:2], *self.image), gy.dtype)

    def reference(self, gy, places):
        gx = self.pad(np.zeros((*gy.shape[:2], *self.image), gy.dtype))
        for place, at in enumerate(self.offsets(gy.shape[2:])):
            gx[at] += np.where(places == place, gy, 0)
        return self.cut(gx)


def record_maxima(graph):
    """Makes max pooling record the positions of its maxima wherever a gradient needs them."""
    grads = [node for node in graph.nodes if isinstance(node.op, MaxPoolGradOp)]
    pools = {node.inputs[2].node for node in grads}
    pools = {p for p in pools if p is not None and isinstance(p.op, MaxPoolOp)}
    places = {}

    def rule(node, inputs, uses):
        if node in pools:
            y, places[node] = MaxPoolWithPlacesOp(*node.op.options())(*inputs)
            return y
        if isinstance(node.op, MaxPoolGradOp) and node.inputs[2].node in places:
            op = MaxPoolToPlacesOp(*node.op.options(), image=node.inputs[1].shape[2:])
            return op(inputs[0], places[node.inputs[2].node])

    return fuse(graph, (rule,))
