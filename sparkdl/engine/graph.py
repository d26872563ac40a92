"""Dataflow graph: tensors with static shapes, and the nodes that produce them."""

import threading
from dataclasses import dataclass
from math import prod

import numpy as np

from sparkdl.engine.dtypes import name_of
from sparkdl.errors import ShapeError


class _Scopes(threading.local):
    """The scopes that the calling thread is in, as several threads may build graphs."""

    def __init__(self):
        self.names = [""]


_scopes = _Scopes()


@dataclass(frozen=True)
class Spec:
    """Shape and dtype of an array, without its data."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def size(self):
        return prod(self.shape)

    @property
    def nbytes(self):
        return self.size * np.dtype(self.dtype).itemsize


class Tensor:
    """A symbolic array: an input (no node, no value), a constant (a value), or an output of a node.

    sparkdl.engine.ops adds the arithmetic operators, as it knows the operations.
    """

    __slots__ = ("index", "name", "node", "spec", "value")
    __array_ufunc__ = None  # makes numpy arrays leave `array + tensor` to the tensor

    def __init__(self, spec, *, name="", node=None, index=0, value=None):
        self.spec, self.name, self.node, self.index, self.value = spec, name, node, index, value

    @property
    def shape(self):
        return self.spec.shape

    @property
    def dtype(self):
        return np.dtype(self.spec.dtype)

    @property
    def ndim(self):
        return len(self.spec.shape)

    def __repr__(self):
        return f"Tensor({self.name or 'unnamed'}, {self.shape}, {self.spec.dtype})"


def constant(value, dtype=None):
    """Returns a constant tensor of `value`."""
    value = np.asarray(value, dtype=dtype)
    return Tensor(Spec(value.shape, name_of(value.dtype)), value=value)


class Node:
    """One application of an operation."""

    __slots__ = ("inputs", "op", "outputs", "scope")

    def __init__(self, op, inputs, specs):
        self.op, self.inputs = op, tuple(inputs)
        self.scope = _scopes.names[-1]
        self.outputs = tuple([Tensor(spec, node=self, index=i) for i, spec in enumerate(specs)])

    @property
    def flops(self):
        """See Op.flops."""
        return self.op.flops(*(t.spec for t in self.inputs))

    def __repr__(self):
        return f"Node({self.op}, {[t.shape for t in self.inputs]})"


class scope:
    """Context in which new nodes get the scope `name`, usually a layer's; see Program.describe().

    It is a class because contextlib takes three times as long.
    """

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        _scopes.names.append(self.name)
        return self

    def rename(self, name):
        """Changes the scope of nodes created from now on."""
        _scopes.names[-1] = name

    def __exit__(self, *error):
        _scopes.names.pop()


class Graph:
    """The nodes that compute `outputs` from `inputs`, both {name: Tensor}.

    Raises
    ------
    ShapeError if anything but `inputs` and constants is read.
    """

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = dict(inputs), dict(outputs)
        self.nodes = by_depth(self.outputs.values())
        self._check()

    def _check(self):
        inputs = set(self.inputs.values())
        for name, tensor in self.inputs.items():
            if tensor.node is not None or tensor.value is not None:
                raise ShapeError(f"input {name!r} must be a tensor without a value, got {tensor}")
        for tensor in [*(t for node in self.nodes for t in node.inputs), *self.outputs.values()]:
            if tensor.node is None and tensor.value is None and tensor not in inputs:
                raise ShapeError(f"{tensor} is read, but it is none of the inputs {[*self.inputs]}")

    @property
    def flops(self):
        """Multiplications and additions in all matrix products and convolutions."""
        return sum(node.flops for node in self.nodes)

    def uses(self):
        """Returns {tensor: number of reads}, counting each graph output as one more."""
        count = {}
        for tensor in [t for node in self.nodes for t in node.inputs] + list(self.outputs.values()):
            count[tensor] = count.get(tensor, 0) + 1
        return count


def by_depth(tensors):
    """Returns every node that `tensors` need, ordered so that shallow tensors are computed first.

    The last layer's gradients, ready first, then do not wait for the first layer's.
    """
    depth = {}
    for node in topological(tensors):
        depth[node] = 1 + max((depth[t.node] for t in node.inputs if t.node), default=0)
    return topological(sorted(tensors, key=lambda t: depth.get(t.node, 0)))


def topological(tensors, stop=()):
    """Returns every node that `tensors` need, producers before users.

    Tensors in `stop` are not traced further.
    """
    order, state, stop = [], {}, set(stop)
    stack = [t.node for t in reversed(list(tensors)) if t.node is not None and t not in stop]
    while stack:
        node = stack[-1]
        if state.get(node) == "done":
            stack.pop()
        elif node in state:
            state[node] = "done"
            order.append(stack.pop())
        else:
            state[node] = "open"
            before = [t for t in reversed(node.inputs) if t.node is not None and t not in stop]
            stack += [t.node for t in before if t.node not in state]
    return order
