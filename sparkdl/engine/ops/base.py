"""What an operation is: a shape rule, a reference in numpy, a gradient written in operations."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.graph import Node, Spec, Tensor, constant
from sparkdl.errors import ShapeError

OPS = {}


def register(cls):
    """Enter an operation in the table that the tests walk through."""
    OPS[cls.__name__] = cls
    return cls


@dataclass(frozen=True)
class Op:
    """An operation; the fields of a subclass are its attributes.

    `shape(*specs)` gives the Spec of the output (a tuple of them where there are several) or raises
    ShapeError. `reference(*arrays)` computes in numpy in any float type. `gradient(gy, *inputs, y)`
    gives for each input its gradient, in operations, or None where there is none; with
    several outputs gy and y are tuples, and an entry of gy is None where nothing depends on it.
    An operation that is only a faster form of others says so in `decompose(*inputs)`.
    """

    def shape(self, *specs):
        raise NotImplementedError

    def decompose(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no decomposition")

    def reference(self, *arrays):
        return self.decompose(*arrays)

    def gradient(self, gy, *inputs_and_y):
        """Through the decomposition, unless a subclass knows better."""
        from sparkdl.engine.autodiff import pullback

        inputs = inputs_and_y[:-1]
        return pullback(self.decompose, inputs, gy)

    def __call__(self, *args):
        """The result at once for arrays; a new node's output if any argument is a Tensor."""
        if not any(isinstance(a, Tensor) for a in args):
            arrays = [np.asarray(a) for a in coerce(args)]
            self.shape(*(Spec(a.shape, a.dtype.name) for a in arrays))
            return self.reference(*arrays)
        inputs = [a if isinstance(a, Tensor) else constant(a) for a in coerce(args)]
        specs = self.shape(*(t.spec for t in inputs))
        several = isinstance(specs, tuple)
        node = Node(self, inputs, specs if several else (specs,))
        return node.outputs if several else node.outputs[0]

    def same(self, *specs):
        """The one shape that all inputs must have."""
        if len({s.shape for s in specs}) > 1:
            shapes = " and ".join(str(s.shape) for s in specs)
            raise ShapeError(f"{type(self).__name__} needs equal shapes, got {shapes}")
        return specs[0]


def coerce(args):
    """Python numbers take the float type of the arrays beside them, as in numpy."""
    arrays = [a for a in args if isinstance(a, Tensor | np.ndarray | np.generic)]
    floats = [a.dtype for a in arrays if np.dtype(a.dtype).kind == "f"]
    kind = floats[0] if floats else (arrays[0].dtype if arrays else None)
    return [np.asarray(a, kind) if isinstance(a, int | float) else a for a in args]
