"""Rows for the normalizations."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from sparkdl.engine import ops
from sparkdl.engine.ops.layer_norm import LayerNormGradOp, LayerNormOp
from sparkdl.engine.ops.spatial.lrn import LrnGradOp
from tests.engine.cases.case import Case
from tests.engine.support import uniform

IMAGES = uniform(40, 2, 4, 5, 6)


def layer_like(axis):
    def like(x, gamma, beta):
        wide = [-1 if i == axis else 1 for i in range(x.ndim)]
        mean, variance = x.mean(axis, keepdims=True), x.var(axis, keepdims=True)
        hat = (x - mean) / jnp.sqrt(variance + 1e-3)
        y = hat * gamma.reshape(wide) + beta.reshape(wide)
        return y, mean.squeeze(axis), variance.squeeze(axis)

    return like


def layer_rows(name, x, axis):
    n = x.shape[axis]
    gamma, beta, gy = uniform(41, n, low=0.5), uniform(42, n), uniform(43, *x.shape)
    op, like = LayerNormOp(axis, 1e-3), layer_like(axis)

    def grad(gy, x, gamma):
        return LayerNormGradOp(axis, 1e-3)(gy, x, gamma, *op(x, gamma, gamma)[1:])

    def grad_like(gy, x, gamma):
        return jax.vjp(lambda *a: like(*a)[0], x, gamma, beta)[1](gy)

    for i, part in enumerate(("y", "mean", "variance")):
        yield (
            f"LayerNorm{name} {part}",
            Case(lambda *a, i=i: op(*a)[i], (x, gamma, beta), lambda *a, i=i: like(*a)[i]),
        )
    for i, part in enumerate(("gx", "ggamma", "gbeta")):
        yield (
            f"LayerNormGrad{name} {part}",
            Case(lambda *a, i=i: grad(*a)[i], (gy, x, gamma), lambda *a, i=i: grad_like(*a)[i]),
        )


def normalized(x, gamma, beta, mean, variance):
    wide = [v.reshape(1, -1, *[1] * (x.ndim - 2)) for v in (gamma, beta, mean, variance)]
    return (x - wide[2]) / jnp.sqrt(wide[3] + 1e-3) * wide[0] + wide[1]


def normalize_row(x):
    c = x.shape[1]
    statistics = uniform(47, c), uniform(48, c, low=0.5)
    arrays = x, uniform(49, c, low=0.5), uniform(50, c), *statistics
    return Case(lambda *a: ops.normalize(*a, 1e-3), arrays, normalized)


def lrn_like(size, alpha, beta, k, within):
    """Implements Caffe's definition: a sum over each number's neighborhood, padded with zeros."""
    window = (1, 1, size, size) if within else (1, size, 1, 1)
    sides = [(n // 2, n // 2) for n in window]

    def like(x):
        total = lax.reduce_window(x * x, 0.0, lax.add, window, (1, 1, 1, 1), sides)
        return x / (k + alpha / np.prod(window) * total) ** beta

    return like


def lrn_rows(name, *options):
    like = lrn_like(*options)
    yield f"Lrn {name}", Case(lambda x: ops.lrn(x, *options), (IMAGES,), like)
    yield (
        f"LrnGrad {name}",
        Case(
            LrnGradOp(*options),
            (uniform(44, *IMAGES.shape), IMAGES),
            lambda gy, x: jax.vjp(like, x)[1](gy)[0],
        ),
    )


CASES = {
    "Normalize of rows": normalize_row(uniform(45, 3, 5)),
    "Normalize of images": normalize_row(IMAGES),
    **dict(layer_rows(" of rows", uniform(45, 3, 5), 1)),
    **dict(layer_rows(" of sequences", uniform(46, 2, 3, 4), 2)),
    **dict(layer_rows(" of channels", IMAGES, 1)),
    **dict(lrn_rows("across channels", 5, 1.0, 0.75, 1.0, False)),
    **dict(lrn_rows("across 3 channels", 3, 0.5, 0.6, 2.0, False)),
    **dict(lrn_rows("within a channel", 3, 2.0, 0.75, 1.0, True)),
}
