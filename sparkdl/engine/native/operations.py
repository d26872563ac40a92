"""Vector code of each elementwise operation, with numpy's type promotion."""

from functools import partial

import numpy as np

from sparkdl.engine.dtypes import BFLOAT16
from sparkdl.engine.native import formulas
from sparkdl.engine.ops import activation, elementwise
from sparkdl.engine.ops.reduce import EqualOp
from sparkdl.engine.ops.shape import BroadcastToOp, CastOp, CopyOp
from sparkdl.engine.ops.softmax import SigmoidCrossEntropyOp
from sparkdl.errors import UnsupportedError


def apply(op, vectors, kind):
    """Returns the result of an operation on vectors, converted to `kind`.

    Raises
    ------
    UnsupportedError
        For operations or types that are left to numpy.
    """
    make = OPERATIONS.get(type(op))
    if make is None:
        raise UnsupportedError(f"{op.kind} is not compiled")
    return convert_vector(make(op, *map(widen_vector, vectors)), kind)


def widen_vector(vector):
    """Returns bfloat16 as float32 for computation; the result of each operation is rounded."""
    return vector.cast("float32") if vector.kind == BFLOAT16 else vector


def convert_vector(vector, kind):
    if kind == "bool" and vector.kind != "mask":
        vector = truth(vector)
    return vector.cast(kind)


def alike(*vectors):
    """Converts the vectors to numpy's common type."""
    kind = np.result_type(*(v.kind for v in vectors)).name
    if kind == "bool" or (kind == "float64" and "uint64" in {v.kind for v in vectors}):
        raise UnsupportedError(f"{kind} is not computed in")
    return [v.cast(kind) for v in vectors]


def plain(function):
    """Wraps an operation without attributes whose operands have a common type."""
    return lambda op, *vectors: function(*alike(*vectors))


def floating(function):
    """Wraps a float32-only operation: other types would need longer polynomials."""

    def make(op, x):
        if x.kind != "float32":
            raise UnsupportedError(f"{op.kind} of {x.kind} is not compiled")
        return function(x)

    return make


def truth(c):
    """Returns the mask of nonzero lanes."""
    return c if c.kind == "mask" else c.mask if c.mask is not None else c.compare("ne", 0)


def larger(x, y, condition):
    """Returns the larger or, by `condition`, the smaller of two; NaN wins."""
    chosen = x.compare(condition, y).select(x, y)
    return x.is_nan().select(x, chosen) if x.floating else chosen


def where(op, c, x, y):
    return truth(c).select(*alike(x, y))


def relu(x):
    return (x <= 0).select(x.of(0), x)


def relu_grad(op, gy, y):
    return (y > 0).select(gy, gy.of(0))


def absolute(x):
    if x.floating:
        return formulas.magnitude(x)
    return x if x.kind[0] == "u" else (x < 0).select(-x, x)


def sign(x):
    positive = (x > 0).select(x.of(1), (x.compare("eq", 0)).select(x.of(0), x))
    return positive if x.kind[0] == "u" else (x < 0).select(x.of(-1), positive)


def leaky_relu(op, x):
    return (x > 0).select(x, x * op.alpha)


def elu(op, x):
    return (x > 0).select(x, formulas.expm1(x) * op.alpha)


def power(op, x):
    if x.kind != "float32" or not np.isfinite(op.exponent):
        raise UnsupportedError(f"{x.kind} to the power {op.exponent} is not compiled")
    return formulas.power(x, float(np.float32(op.exponent)))


def cross_entropy(op, x, target):
    rest = floating(lambda x: formulas.log1p_of_share(formulas.exp(-formulas.magnitude(x))))
    return relu(x) - x * target.cast(x.kind) + rest(op, x)


def single(make):
    """Wraps a float32-only operation with attributes."""
    return lambda op, x: floating(partial(make, op))(op, x)


OPERATIONS = {
    elementwise.AddOp: plain(lambda x, y: x + y),
    elementwise.SubOp: plain(lambda x, y: x - y),
    elementwise.MulOp: plain(lambda x, y: x * y),
    elementwise.DivOp: plain(lambda x, y: x / y),
    elementwise.MaximumOp: plain(lambda x, y: larger(x, y, "gt")),
    elementwise.MinimumOp: plain(lambda x, y: larger(x, y, "lt")),
    elementwise.GreaterOp: plain(lambda x, y: x > y),
    elementwise.WhereOp: where,
    elementwise.PowerOp: power,
    elementwise.NegOp: plain(lambda x: -x),
    elementwise.SquareOp: plain(lambda x: x * x),
    elementwise.AbsOp: plain(absolute),
    elementwise.SignOp: plain(sign),
    elementwise.ExpOp: floating(formulas.exp),
    elementwise.LogOp: floating(formulas.log_of),
    elementwise.SqrtOp: floating(formulas.square_root),
    activation.ReluOp: plain(relu),
    activation.ReluGradOp: relu_grad,
    activation.LeakyReluOp: single(leaky_relu),
    activation.EluOp: single(elu),
    activation.TanhOp: floating(formulas.tanh),
    activation.SigmoidOp: floating(formulas.sigmoid),
    activation.SoftplusOp: floating(formulas.softplus),
    activation.ErfOp: floating(formulas.erf),
    SigmoidCrossEntropyOp: cross_entropy,
    EqualOp: plain(lambda x, y: x.compare("eq", y)),
    BroadcastToOp: lambda op, x: x,
    CastOp: lambda op, x: x,
    CopyOp: lambda op, x: x,
}
