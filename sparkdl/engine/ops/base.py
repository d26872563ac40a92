"""Base of the operations: a shape rule, a reference in numpy, a gradient written in operations."""

from functools import cache
from typing import ClassVar

import numpy as np

from sparkdl.config import FrozenFields, dataclass
from sparkdl.engine.dtypes import is_float, is_narrow, name_of, widen
from sparkdl.engine.graph import Node, Spec, Tensor, constant, topological
from sparkdl.errors import ShapeError

OPS = {}


def register(cls):
    """Enters an operation in the table that the tests walk through."""
    OPS[cls.kind] = cls
    return cls


@dataclass(frozen=True)
class Op(FrozenFields):
    """An operation; the fields of a subclass are its attributes.

    `shape(*specs)` gives the Spec of the output (a tuple of them where there are several) or raises
    ShapeError. `reference(*arrays)` computes in numpy in any float type. `gradient(gy, *inputs, y)`
    gives for each input its gradient, in operations, or None where there is none; with
    several outputs gy and y are tuples, and an entry of gy is None where nothing depends on it.
    One that gives NotImplemented, as this class does, is differentiated by what it decomposes into.
    An operation that is only a faster form of others says so in `decompose(*inputs)`. One that can
    fill memory it is given has `into(*outputs, *arrays)` beside `reference`.
    `floating` operations refuse inputs that are all integers, where numpy would go to float64.
    What is computed `in_place` may lie on an input of its shape, which it reads no more after that.
    Of a `view` the reference gives the input's own memory: a program has nothing to compute there.
    """

    kind: ClassVar = ""  # what it computes: the name of the class without its suffix
    floating: ClassVar = False
    view: ClassVar = False
    in_place: ClassVar = False

    def __init_subclass__(cls):
        cls.kind = cls.__name__.removesuffix("Op")

    @property
    def label(self):
        """Returns the name that programs and profiles show."""
        return self.kind

    def shape(self, *specs):
        raise NotImplementedError

    def decompose(self, *inputs):
        raise NotImplementedError(f"{self.kind} has no decomposition")

    def reference(self, *arrays):
        return self.decompose(*arrays)

    def gradient(self, gy, *inputs_and_y):
        """Returns NotImplemented: autodiff goes back through the decomposition."""
        return NotImplemented

    def flops(self, *specs):
        """Returns the multiplications and additions in matrix products and convolutions.

        All else counts nothing: its time is that of memory.
        """
        if type(self).decompose is Op.decompose:
            return 0
        results = self.decompose(*map(Tensor, specs))
        nodes = topological(results if isinstance(results, tuple) else (results,))
        return sum(node.flops for node in nodes)

    def __call__(self, *args):
        """Returns the result at once for arrays, or a new node's output if there is a Tensor."""
        args = coerce(args)
        if not any(isinstance(a, Tensor) for a in args):
            return self.compute(*(np.asarray(a) for a in args))
        inputs = [a if isinstance(a, Tensor) else constant(a) for a in args]
        specs = self.infer(*(t.spec for t in inputs))
        several = isinstance(specs, tuple)
        node = Node(self, inputs, specs if several else (specs,))
        return node.outputs if several else node.outputs[0]

    def compute(self, *arrays):
        """Returns the result now, in the type that a program would give it."""
        specs = self.infer(*(Spec(a.shape, name_of(a.dtype)) for a in arrays))
        results = self.reference(*map(widen, arrays))
        if not isinstance(specs, tuple):
            return results.astype(specs.dtype, copy=False)
        pairs = zip(results, specs, strict=True)
        return tuple(result.astype(spec.dtype, copy=False) for result, spec in pairs)

    def infer(self, *specs):
        """`shape`, once the types have been looked at."""
        if self.floating and not is_float(common_type(*specs)):
            dtypes = " and ".join(s.dtype for s in specs)
            raise ShapeError(f"{self.kind} needs floats, got {dtypes}; cast them first")
        return self.shape(*specs)

    def same(self, *specs):
        """Returns the one shape that all inputs must have."""
        if len({s.shape for s in specs}) > 1:
            shapes = " and ".join(str(s.shape) for s in specs)
            raise ShapeError(f"{self.kind} needs equal shapes, got {shapes}")
        return specs[0]


def common_type(*specs):
    """Returns the type of what is made of `specs`: integers beside floats do not widen them."""
    return common_name(*[s.dtype for s in specs])


@cache  # compiling a program asks for each operation
def common_name(*dtypes):
    """Returns the name of the `common_type` of numbers of these types."""
    types = [np.dtype(dtype) for dtype in dtypes]
    return np.result_type(*([t for t in types if is_float(t)] or types)).name


def coerce(args):
    """Gives Python numbers, np.float64 among them, the type of the arrays beside them."""
    weak = [isinstance(a, (int, float)) for a in args]
    if all(weak) or not any(weak):
        return args
    arrays = [a for a, w in zip(args, weak, strict=True) if not w]
    kind = common_type(*(a if isinstance(a, Tensor) else np.asarray(a) for a in arrays))
    return [as_kind(a, kind) if w else a for a, w in zip(args, weak, strict=True)]


def as_kind(number, kind):
    """Returns a number as an array of `kind`, or of float64 where it would lose its fraction."""
    number = float(number) if isinstance(number, float) else number
    return np.asarray(number, kind if is_narrow(kind) else np.result_type(kind, number))
