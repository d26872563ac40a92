"""C expressions of the elementwise operations, on numbers in wide types."""

import numpy as np

from sparkdl.engine.backends.cuda.modules import wide
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops import activation, elementwise
from sparkdl.engine.ops.base import common_type
from sparkdl.engine.ops.reduce import Equal
from sparkdl.engine.ops.shape import BroadcastTo, Cast, Copy
from sparkdl.engine.ops.softmax import SigmoidCrossEntropy


def expression(op, kinds, names):
    """The C expression of an operation on operands of these numpy types.

    Operands are brought to their common type first, as numpy does.
    """
    kind = common_type(*(Spec((), k) for k in kinds))
    text = OPERATIONS[type(op)]
    if isinstance(op, elementwise.Where):
        kind = common_type(*(Spec((), k) for k in kinds[1:]))
        condition, *names = names
        return text.format(condition, *(cast(n, kind) for n in names))
    options = {name: literal(value, kind) for name, value in vars(op).items()}
    return text.format(*(cast(n, kind) for n in names), **options)


def cast(name, kind):
    return f"(({wide(kind)}){name})"


def literal(value, kind):
    """A number of Python's in a wide type, exactly."""
    if not isinstance(value, int | float):
        return ""
    c_type = wide(kind)
    if not np.isfinite(value):
        sign = "-" if value < 0 else ""
        return f"({c_type})({sign}{'INFINITY' if np.isinf(value) else 'NAN'})"
    return f"({c_type}){float(value)!r}"


OPERATIONS = {
    elementwise.Add: "{} + {}",
    elementwise.Sub: "{} - {}",
    elementwise.Mul: "{} * {}",
    elementwise.Div: "{} / {}",
    elementwise.Maximum: "larger({}, {})",
    elementwise.Minimum: "smaller({}, {})",
    elementwise.Greater: "{} > {}",
    elementwise.Where: "{} != 0 ? {} : {}",
    elementwise.Power: "pow({}, {exponent})",
    elementwise.Neg: "-{}",
    elementwise.Square: "{0} * {0}",
    elementwise.Abs: "magnitude({})",
    elementwise.Sign: "sign({})",
    elementwise.Exp: "exp({})",
    elementwise.Log: "log({})",
    elementwise.Sqrt: "sqrt({})",
    activation.Relu: "{0} <= 0 ? 0 : {0}",
    activation.ReluGrad: "{1} > 0 ? {0} : 0",
    activation.LeakyRelu: "{0} > 0 ? {0} : {0} * {alpha}",
    activation.Elu: "{0} > 0 ? {0} : expm1({0}) * {alpha}",
    activation.Tanh: "tanh({})",
    activation.Sigmoid: "sigmoid({})",
    activation.Softplus: "softplus({})",
    activation.Erf: "erf({})",
    SigmoidCrossEntropy: "({0} < 0 ? 0 : {0}) - {0} * {1} + log1p(exp(-magnitude({0})))",
    Equal: "{} == {}",
    BroadcastTo: "{}",
    Cast: "{}",
    Copy: "{}",
}
