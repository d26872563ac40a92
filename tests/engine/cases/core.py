"""Rows for the core operations."""

import jax
import numpy as np
import optax
import scipy.special
from jax import numpy as jnp

from sparkdl.engine import Tensor, constant, ops
from sparkdl.engine.chains import ChainOp
from sparkdl.engine.fusion import BiasActivationOp
from sparkdl.engine.ops.activation import relu_grad
from sparkdl.engine.ops.matmul import AddBiasOp, MatMulOp
from sparkdl.engine.ops.normalization import BatchNormGradOp
from sparkdl.engine.ops.reduce import equal
from sparkdl.engine.ops.spatial.conv import ConvOp
from tests.engine.cases.case import Case
from tests.engine.cases.windows import FILTERS, STRIDED, conv_like
from tests.engine.support import distinct, uniform

A, B, ROW = uniform(0, 3, 4), uniform(1, 3, 4), uniform(2, 4)
APART, APART2 = distinct(3, 3, 4), distinct(4, 3, 4)[::-1] + 0.01
POSITIVE, MASK = uniform(5, 3, 4, low=0.3, high=3), (distinct(6, 3, 4) > 0).astype(float)
IMAGES = distinct(7, 2, 4, 7, 6)
LABELS = np.array([0, 3, 1])
IDS = np.array([5, 9, 2**40 + 1], np.uint64)
EPOCH = np.asarray(2, np.uint64)


def norm_like(x, gamma, beta):
    axes = tuple(i for i in range(x.ndim) if i != 1)
    wide = [v.reshape(1, -1, *[1] * (x.ndim - 2)) for v in (gamma, beta)]
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    y = (x - mean) / jnp.sqrt(variance + 1e-3) * wide[0] + wide[1]
    return y, mean.reshape(-1), variance.reshape(-1)


def norm_rows(name, x):
    gamma, beta = uniform(14, 4, low=0.5), uniform(15, 4)
    gy = uniform(16, *x.shape)

    def grad(gy, x, gamma):
        _, mean, variance = ops.batch_norm(x, gamma, gamma, 1e-3)
        return BatchNormGradOp(1e-3)(gy, x, gamma, mean, variance)

    def grad_like(gy, x, gamma):
        return jax.vjp(lambda *a: norm_like(*a)[0], x, gamma, beta)[1](gy)

    for i, part in enumerate(("y", "mean", "variance")):
        yield (
            f"BatchNorm{name} {part}",
            Case(
                lambda *a, i=i: ops.batch_norm(*a, 1e-3)[i],
                (x, gamma, beta),
                lambda *a, i=i: norm_like(*a)[i],
            ),
        )
    for i, part in enumerate(("gx", "ggamma", "gbeta")):
        yield (
            f"BatchNormGrad{name} {part}",
            Case(
                lambda *a, i=i: grad(*a)[i],
                (gy, x, gamma),
                lambda *a, i=i: grad_like(*a)[i],
            ),
        )


def matmul_rows():
    left, right = uniform(17, 3, 5), uniform(18, 5, 4)
    for tx in (False, True):
        for ty in (False, True):
            arrays = left.T.copy() if tx else left, right.T.copy() if ty else right
            yield (
                f"MatMul {tx} {ty}",
                Case(
                    lambda x, y, tx=tx, ty=ty: ops.matmul(x, y, tx, ty),
                    arrays,
                    lambda x, y, tx=tx, ty=ty: (x.T if tx else x) @ (y.T if ty else y),
                ),
            )


def fused_rows():
    x, w, b = uniform(19, 3, 5), uniform(20, 5, 4), uniform(21, 4)
    dense = MatMulOp(), AddBiasOp(1)
    yield "BiasActivation", Case(BiasActivationOp(*dense), (x, w, b), lambda x, w, b: x @ w + b)
    for act, like in ((ops.relu, jax.nn.relu), (ops.tanh, jnp.tanh), (ops.sigmoid, jax.nn.sigmoid)):
        yield (
            f"BiasActivation {act.kind}",
            Case(
                BiasActivationOp(*dense, act),
                (x, w, b),
                lambda x, w, b, like=like: like(x @ w + b),
            ),
        )
    conv = ConvOp((3, 2), *STRIDED)
    yield (
        "BiasActivation of Conv",
        Case(
            BiasActivationOp(conv, AddBiasOp(1), ops.tanh),
            (IMAGES, FILTERS, uniform(22, 6)),
            lambda x, w, b: jnp.tanh(conv_like(STRIDED)(x, w) + b[:, None, None]),
        ),
    )
    steps = ((ops.mul, (0, 1)), (ops.tanh, (2,)), (ops.add, (3, 0)))
    yield (
        "Chain",
        Case(lambda x, y: ChainOp(steps, (2,))(x, y)[0], (A, B), lambda x, y: jnp.tanh(x * y) + x),
    )
    yield (
        "Chain of two results",
        Case(
            lambda x, y: ops.concat(list(ChainOp(steps, (1, 2))(x, y))),
            (A, B),
            lambda x, y: jnp.concatenate([jnp.tanh(x * y), jnp.tanh(x * y) + x]),
        ),
    )


def beside(x, value):
    """Wraps a fixed array as a constant if x is a tensor."""
    return constant(value) if isinstance(x, Tensor) else value


CASES = {
    "Add": Case(ops.add, (A, B), jnp.add),
    "Add broadcast": Case(ops.add, (A, ROW), jnp.add),
    "Sub": Case(ops.sub, (A, B), jnp.subtract),
    "Sub broadcast": Case(ops.sub, (ROW, A), jnp.subtract),
    "Mul": Case(ops.mul, (A, B), jnp.multiply),
    "Mul broadcast": Case(ops.mul, (uniform(23, 3, 1), ROW), jnp.multiply),
    "Mul scalar": Case(ops.mul, (A, np.asarray(1.5)), jnp.multiply),
    "Div": Case(ops.div, (A, POSITIVE), jnp.divide),
    "Div broadcast": Case(ops.div, (ROW, POSITIVE), jnp.divide),
    "Maximum": Case(ops.maximum, (APART, APART2), jnp.maximum),
    "Maximum number": Case(lambda x: ops.maximum(x, 0.3), (APART,), lambda x: jnp.maximum(x, 0.3)),
    "Minimum": Case(ops.minimum, (APART, APART2), jnp.minimum),
    "Greater": Case(ops.greater, (APART, APART2), lambda x, y: (x > y) * 1.0, order=0),
    "Where": Case(
        lambda x, y: ops.where(MASK.astype(x.dtype), x, y),
        (A, ROW),
        lambda x, y: jnp.where(MASK, x, y),
    ),
    "Where number": Case(
        lambda x: ops.where(ops.greater(x, 0.0), x, 0.0), (APART,), lambda x: jnp.where(x > 0, x, 0)
    ),
    "Power": Case(lambda x: ops.power(x, 2.5), (POSITIVE,), lambda x: x**2.5),
    "Power square": Case(lambda x: ops.power(x, 2), (APART,), lambda x: x**2),
    "Power inverse": Case(lambda x: ops.power(x, -1), (APART,), lambda x: 1 / x),
    "Power zero": Case(lambda x: ops.power(x, 0), (APART,), lambda x: x**0),
    "Neg": Case(ops.neg, (A,), jnp.negative),
    "Exp": Case(ops.exp, (A,), jnp.exp),
    "Log": Case(ops.log, (POSITIVE,), jnp.log),
    "Sqrt": Case(ops.sqrt, (POSITIVE,), jnp.sqrt),
    "Square": Case(ops.square, (A,), jnp.square),
    "Abs": Case(ops.abs, (APART,), jnp.abs),
    "Sign": Case(ops.sign, (APART,), jnp.sign, order=0),
    "Relu": Case(ops.relu, (APART,), jax.nn.relu),
    "ReluGrad": Case(
        lambda gy: relu_grad(gy, APART.astype(gy.dtype)), (A,), lambda gy: gy * (APART > 0)
    ),
    "LeakyRelu": Case(ops.leaky_relu, (APART,), jax.nn.leaky_relu),
    "LeakyRelu steep": Case(
        lambda x: ops.leaky_relu(x, 0.3), (APART,), lambda x: jax.nn.leaky_relu(x, 0.3)
    ),
    "Elu": Case(ops.elu, (APART,), jax.nn.elu),
    "Elu steep": Case(lambda x: ops.elu(x, 0.7), (APART,), lambda x: jax.nn.elu(x, 0.7)),
    "Tanh": Case(ops.tanh, (A,), jnp.tanh),
    "Sigmoid": Case(ops.sigmoid, (A,), jax.nn.sigmoid),
    "Sigmoid far": Case(ops.sigmoid, (uniform(24, 20, low=-80, high=40),), scipy.special.expit),
    "Softplus": Case(ops.softplus, (A,), jax.nn.softplus),
    "Erf": Case(ops.erf, (A,), scipy.special.erf),
    "Erf far": Case(ops.erf, (np.linspace(-6.5, 6.5, 101),), scipy.special.erf),
    "Reshape": Case(lambda x: ops.reshape(x, (2, -1)), (A,), lambda x: x.reshape(2, 6)),
    "Transpose": Case(
        lambda x: ops.transpose(x, (2, 0, 3, 1)), (IMAGES,), lambda x: x.transpose(2, 0, 3, 1)
    ),
    "BroadcastTo": Case(
        lambda x: ops.broadcast_to(x, (2, 3, 4)),
        (uniform(25, 3, 1),),
        lambda x: jnp.broadcast_to(x, (2, 3, 4)),
    ),
    "SumTo": Case(
        lambda x: ops.sum_to(x, (3, 1)),
        (uniform(26, 2, 3, 4),),
        lambda x: x.sum((0, 2)).reshape(3, 1),
    ),
    "Slice": Case(lambda x: ops.slice(x, (1, 0), (3, 2)), (A,), lambda x: x[1:3, 0:2]),
    "Pad": Case(lambda x: ops.pad(x, (1, 0), (2, 3)), (A,), lambda x: jnp.pad(x, ((1, 2), (0, 3)))),
    "Concat": Case(
        lambda *xs: ops.concat(xs, axis=-1),
        (A, uniform(27, 3, 2), B),
        lambda *xs: jnp.concatenate(xs, axis=1),
    ),
    "Cast": Case(lambda x: ops.cast(ops.cast(x, "int32"), x.dtype), (A,), jnp.trunc, order=0),
    "Copy": Case(ops.copy, (A,), lambda x: x),
    "Barrier": Case(ops.barrier, (A, A), lambda x, other: x),
    "StopGradient": Case(ops.stop_gradient, (A,), lambda x: x, order=0),
    "Sum": Case(ops.sum, (A,), jnp.sum),
    "Sum axes": Case(lambda x: ops.sum(x, (0, -1)), (IMAGES,), lambda x: x.sum((0, 3))),
    "Sum keepdims": Case(
        lambda x: ops.sum(x, 1, keepdims=True), (A,), lambda x: x.sum(1, keepdims=True)
    ),
    "Mul of Sum: mean": Case(lambda x: ops.mean(x, (0, 2)), (IMAGES,), lambda x: x.mean((0, 2))),
    "Max": Case(ops.max, (APART,), jnp.max),
    "Max axes": Case(
        lambda x: ops.max(x, (1, 2), keepdims=True),
        (IMAGES,),
        lambda x: x.max((1, 2), keepdims=True),
    ),
    "Equal": Case(
        lambda x: equal(x, beside(x, MASK.astype(x.dtype))),
        (np.ones((3, 4)),),
        lambda x: (x == MASK) * 1.0,
        order=0,
    ),
    "AddBias": Case(ops.add_bias, (A, ROW), jnp.add),
    "AddBias images": Case(
        lambda x, b: ops.add_bias(x, b, 1), (IMAGES, ROW), lambda x, b: x + b[:, None, None]
    ),
    "Softmax": Case(ops.softmax, (A,), jax.nn.softmax),
    "LogSoftmax": Case(ops.log_softmax, (A * 30,), jax.nn.log_softmax),
    "SoftmaxCrossEntropy": Case(
        lambda x: ops.softmax_cross_entropy(x, beside(x, LABELS)),
        (A,),
        lambda x: optax.softmax_cross_entropy_with_integer_labels(x, LABELS),
    ),
    "SigmoidCrossEntropy": Case(
        ops.sigmoid_cross_entropy,
        (A, uniform(28, 3, 4, low=0, high=1)),
        optax.sigmoid_binary_cross_entropy,
    ),
    "OneHot": Case(
        lambda x: ops.mul(ops.one_hot(beside(x, LABELS), 4, x.dtype), x),
        (A,),
        lambda x: jax.nn.one_hot(LABELS, 4) * x,
    ),
    "Uniform": Case(
        lambda x: ops.greater(x, ops.cast(ops.uniform(beside(x, IDS), EPOCH, (4,), 3, 1), x.dtype)),
        (A,),
        order=0,
    ),
    **dict(norm_rows(" of rows", uniform(29, 5, 4))),
    **dict(norm_rows(" of images", uniform(30, 2, 4, 3, 2))),
    **dict(matmul_rows()),
    **dict(fused_rows()),
}
