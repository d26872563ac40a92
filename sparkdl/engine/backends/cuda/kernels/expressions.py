"""C expressions of the elementwise operations, on numbers in wide types."""

import numpy as np

from sparkdl.engine.backends.cuda.kernels.modules import wide
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops import activation, elementwise
from sparkdl.engine.ops.base import common_type
from sparkdl.engine.ops.reduce import EqualOp
from sparkdl.engine.ops.shape import BroadcastToOp, CastOp, CopyOp
from sparkdl.engine.ops.softmax import SigmoidCrossEntropyOp


def expression(op, kinds, names):
    """Returns the C expression of an operation on operands of these numpy types.

    Operands are cast to their common type first, as in numpy.
    """
    kind = common_type(*(Spec((), k) for k in kinds))
    text = OPERATIONS[type(op)]
    if isinstance(op, elementwise.WhereOp):
        kind = common_type(*(Spec((), k) for k in kinds[1:]))
        condition, *names = names
        return text.format(condition, *(cast(n, kind) for n in names))
    options = {name: literal(value, kind) for name, value in vars(op).items()}
    return text.format(*(cast(n, kind) for n in names), **options)


def cast(name, kind):
    return f"(({wide(kind)}){name})"


def literal(value, kind):
    """Returns a Python number as a literal of a wide type, exactly."""
    if not isinstance(value, int | float):
        return ""
    c_type = wide(kind)
    if not np.isfinite(value):
        sign = "-" if value < 0 else ""
        return f"({c_type})({sign}{'INFINITY' if np.isinf(value) else 'NAN'})"
    return f"({c_type}){float(value)!r}"


OPERATIONS = {
    elementwise.AddOp: "{} + {}",
    elementwise.SubOp: "{} - {}",
    elementwise.MulOp: "{} * {}",
    elementwise.DivOp: "{} / {}",
    elementwise.MaximumOp: "larger({}, {})",
    elementwise.MinimumOp: "smaller({}, {})",
    elementwise.GreaterOp: "{} > {}",
    elementwise.WhereOp: "{} != 0 ? {} : {}",
    elementwise.PowerOp: "pow({}, {exponent})",
    elementwise.NegOp: "-{}",
    elementwise.SquareOp: "{0} * {0}",
    elementwise.AbsOp: "magnitude({})",
    elementwise.SignOp: "sign({})",
    elementwise.ExpOp: "exp({})",
    elementwise.LogOp: "log({})",
    elementwise.SqrtOp: "sqrt({})",
    activation.ReluOp: "{0} <= 0 ? 0 : {0}",
    activation.ReluGradOp: "{1} > 0 ? {0} : 0",
    activation.LeakyReluOp: "{0} > 0 ? {0} : {0} * {alpha}",
    activation.EluOp: "{0} > 0 ? {0} : expm1({0}) * {alpha}",
    activation.TanhOp: "tanh({})",
    activation.SigmoidOp: "sigmoid({})",
    activation.SoftplusOp: "softplus({})",
    activation.ErfOp: "erf({})",
    SigmoidCrossEntropyOp: "({0} < 0 ? 0 : {0}) - {0} * {1} + log1p(exp(-magnitude({0})))",
    EqualOp: "{} == {}",
    BroadcastToOp: "{}",
    CastOp: "{}",
    CopyOp: "{}",
}
