"""Base of operations: a shape rule, a numpy reference, and a gradient written in operations."""

from functools import cache
from typing import ClassVar

import numpy as np

from sparkdl.config import FrozenFields, dataclass
from sparkdl.engine.dtypes import is_float, is_narrow, name_of, widen
from sparkdl.engine.graph import Node, Spec, Tensor, constant, topological
from sparkdl.errors import ShapeError

OPS = {}


def register(cls):
    """Adds an operation to the table that the tests iterate over."""
    OPS[cls.kind] = cls
    return cls


@dataclass(frozen=True)
class Op(FrozenFields):
    """An operation; the fields of a subclass are its attributes.

    `shape(*specs)` returns the Spec of the output (a tuple if there are several) or raises
    ShapeError. `reference(*arrays)` computes in numpy in any float type. `gradient(gy, *inputs, y)`
    returns the gradient of each input, in operations, or None if there is none. With several
    outputs, gy and y are tuples; an entry of gy is None where nothing depends on that output. If
    `gradient` returns NotImplemented, as in this class, autodiff differentiates the decomposition.

    An operation that is only a faster form of others defines `decompose(*inputs)`. One that can
    write to given memory defines `into(*outputs, *arrays)` beside `reference`.

    `floating` operations refuse inputs that are all integers, where numpy would compute in float64.
    An `in_place` operation may write its output over an input of its shape, once it has read that.
    `overwrites` is the index of an input like the output, or None: where nothing reads that input
    later, the output gets its memory, and the operation must read each number before it writes it.
    A `view` returns the memory of its input from `reference`, so a program computes nothing.
    """

    kind: ClassVar = ""  # the class name without its suffix
    floating: ClassVar = False
    view: ClassVar = False
    in_place: ClassVar = False
    overwrites: ClassVar = None

    def __init_subclass__(cls):
        cls.kind = cls.__name__.removesuffix("Op")

    @property
    def label(self):
        """The name shown by programs and profiles."""
        return self.kind

    def shape(self, *specs):
        raise NotImplementedError

    def decompose(self, *inputs):
        raise NotImplementedError(f"{self.kind} has no decomposition")

    def reference(self, *arrays):
        return self.decompose(*arrays)

    def gradient(self, gy, *inputs_and_y):
        """Returns NotImplemented: autodiff differentiates the decomposition."""
        return NotImplemented

    def flops(self, *specs):
        """Returns the multiplications and additions in matrix products and convolutions.

        Everything else counts as 0: memory bounds its time.
        """
        if type(self).decompose is Op.decompose:
            return 0
        results = self.decompose(*map(Tensor, specs))
        nodes = topological(results if isinstance(results, tuple) else (results,))
        return sum(node.flops for node in nodes)

    def __call__(self, *args):
        """Computes the result of arrays, or adds a node if there is a Tensor."""
        args = coerce(args)
        if not any(isinstance(a, Tensor) for a in args):
            return self.compute(*(np.asarray(a) for a in args))
        inputs = [a if isinstance(a, Tensor) else constant(a) for a in args]
        specs = self.infer(*(t.spec for t in inputs))
        several = isinstance(specs, tuple)
        node = Node(self, inputs, specs if several else (specs,))
        return node.outputs if several else node.outputs[0]

    def compute(self, *arrays):
        """Computes the result directly, in the dtype that a program would give it."""
        specs = self.infer(*(Spec(a.shape, name_of(a.dtype)) for a in arrays))
        results = self.reference(*map(widen, arrays))
        if not isinstance(specs, tuple):
            return results.astype(specs.dtype, copy=False)
        pairs = zip(results, specs, strict=True)
        return tuple(result.astype(spec.dtype, copy=False) for result, spec in pairs)

    def infer(self, *specs):
        """Checks the dtypes, then returns `shape`."""
        if self.floating and not is_float(common_type(*specs)):
            dtypes = " and ".join(s.dtype for s in specs)
            raise ShapeError(f"{self.kind} needs floats, got {dtypes}; cast them first")
        return self.shape(*specs)

    def same(self, *specs):
        """Returns the first spec, or raises ShapeError unless all shapes are equal."""
        if len({s.shape for s in specs}) > 1:
            shapes = " and ".join(str(s.shape) for s in specs)
            raise ShapeError(f"{self.kind} needs equal shapes, got {shapes}")
        return specs[0]


def common_type(*specs):
    """Returns the common dtype of `specs`; integers do not widen floats."""
    return common_name(*[s.dtype for s in specs])


@cache  # compiling a program calls this for each operation
def common_name(*dtypes):
    """Returns the name of the common dtype; see `common_type`."""
    types = [np.dtype(dtype) for dtype in dtypes]
    return np.result_type(*([t for t in types if is_float(t)] or types)).name


def coerce(args):
    """Converts Python numbers, np.float64 included, to the dtype of the arrays beside them."""
    weak = [isinstance(a, (int, float)) for a in args]
    if all(weak) or not any(weak):
        return args
    arrays = [a for a, w in zip(args, weak, strict=True) if not w]
    kind = common_type(*(a if isinstance(a, Tensor) else np.asarray(a) for a in arrays))
    return [as_kind(a, kind) if w else a for a, w in zip(args, weak, strict=True)]


def as_kind(number, kind):
    """Returns a number as an array of `kind`, or of a wider type if it would lose its fraction."""
    number = float(number) if isinstance(number, float) else number
    return np.asarray(number, kind if is_narrow(kind) else np.result_type(kind, number))
