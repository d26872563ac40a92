"""Rows for batched products and the operations of attention."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from sparkdl.engine import ops
from sparkdl.engine.ops.attention import HeadMixOp, HeadScoresOp
from sparkdl.engine.ops.gelu import GeluGradOp
from sparkdl.engine.ops.softmax import LogSoftmaxGradOp, SoftmaxCrossEntropyGradOp, SoftmaxGradOp
from tests.engine.cases.case import Case
from tests.engine.support import distinct, uniform


def swapped(x, swap):
    return jnp.swapaxes(x, -1, -2) if swap else x


def batch_rows():
    for lead in ((2,), (2, 3)):
        for tx in (False, True):
            for ty in (False, True):
                x = uniform(0, *lead, *((5, 3) if tx else (3, 5)))
                y = uniform(1, *lead, *((4, 5) if ty else (5, 4)))
                yield (
                    f"MatMul of {len(lead) + 2} axes {tx} {ty}",
                    Case(
                        lambda x, y, tx=tx, ty=ty: ops.matmul(x, y, tx, ty),
                        (x, y),
                        lambda x, y, tx=tx, ty=ty: swapped(x, tx) @ swapped(y, ty),
                    ),
                )
    for ty in (False, True):
        yield (
            f"MatMul of a sequence and a matrix {ty}",
            Case(
                lambda x, y, ty=ty: ops.matmul(x, y, False, ty),
                (uniform(2, 2, 3, 5), uniform(3, 4, 5) if ty else uniform(3, 5, 4)),
                lambda x, y, ty=ty: x @ swapped(y, ty),
            ),
        )


def by_heads(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def head_rows():
    q, k, v = uniform(4, 2, 3, 8), uniform(5, 2, 5, 8), uniform(6, 2, 5, 8)
    maps = uniform(7, 2 * 4, 3, 5)

    def scores(q, k, *bias):
        y = by_heads(q, 4) @ by_heads(k, 4).swapaxes(2, 3) * 0.3
        y = y + bias[0][:, None] if bias else y
        return y.reshape(8, *y.shape[2:])

    def mixed(maps, v):
        y = maps.reshape(-1, 4, *maps.shape[1:]) @ by_heads(v, 4)
        return y.transpose(0, 2, 1, 3).reshape(2, -1, 8)

    op = HeadScoresOp(4, 0.3)
    yield "HeadScores", Case(op, (q, k), scores)
    yield "HeadScores and a bias", Case(op, (q, k, uniform(8, 2, 3, 5)), scores)
    yield "HeadScores and a bias of keys", Case(op, (q, k, uniform(9, 2, 1, 5)), scores)
    yield "HeadMix", Case(HeadMixOp(4), (maps, v), mixed)
    yield (
        "HeadMix back",
        Case(HeadMixOp(4, 0.7, True), (maps, q), lambda m, q: 0.7 * mixed(m.swapaxes(1, 2), q)),
    )


def softmax_rows():
    x, gy = uniform(10, 2, 3, 4), uniform(11, 2, 3, 4)
    shares = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    for name, op, like in (
        ("Softmax", ops.softmax, jax.nn.softmax),
        ("LogSoftmax", ops.log_softmax, jax.nn.log_softmax),
    ):
        yield f"{name} of a sequence", Case(op, (gy,), like)
    for op, y, like in (
        (SoftmaxGradOp(), shares, jax.nn.softmax),
        (LogSoftmaxGradOp(), np.log(shares), jax.nn.log_softmax),
    ):
        case = Case(op, (gy, y), lambda gy, y, like=like: jax.vjp(like, x)[1](gy)[0])
        yield op.kind, case
    losses = optax.softmax_cross_entropy_with_integer_labels
    logits, labels = uniform(14, 4, 5), np.array([4, 0, 2, 2])
    yield (
        "SoftmaxCrossEntropyGrad",
        Case(
            lambda gy, x: SoftmaxCrossEntropyGradOp()(gy, x, labels),
            (uniform(15, 4), logits),
            lambda gy, x: jax.vjp(lambda x: losses(x, labels), x)[1](gy)[0],
        ),
    )


def falling_rows():
    """With a negative alpha, the sign of y does not determine that of x."""
    x = distinct(14, 3, 4)
    yield (
        "LeakyRelu falling",
        Case(lambda x: ops.leaky_relu(x, -0.3), (x,), lambda x: jax.nn.leaky_relu(x, -0.3)),
    )
    yield "Elu falling", Case(lambda x: ops.elu(x, -0.7), (x,), lambda x: jax.nn.elu(x, -0.7))


def gelu_rows():
    x, gy = uniform(12, 3, 4, low=-4, high=4), uniform(13, 3, 4)
    for approximate in (False, True):
        like = partial(jax.nn.gelu, approximate=approximate)
        name = " approximate" if approximate else ""
        yield f"Gelu{name}", Case(lambda x, a=approximate: ops.gelu(x, a), (x,), like)
        yield (
            f"GeluGrad{name}",
            Case(
                GeluGradOp(approximate),
                (gy, x),
                lambda gy, x, like=like: jax.vjp(like, x)[1](gy)[0],
            ),
        )


CASES = {
    **dict(batch_rows()),
    **dict(head_rows()),
    **dict(softmax_rows()),
    **dict(gelu_rows()),
    **dict(falling_rows()),
}
