"""Rows for sliding windows: convolution and pooling over one to three axes."""

from itertools import product

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from sparkdl.engine import ops
from sparkdl.engine.ops.spatial.conv import ConvGradInputOp, ConvGradWeightOp
from sparkdl.engine.ops.spatial.pool import AvgPoolGradOp, MaxPoolGradOp, MaxPoolPickOp
from tests.engine.cases.case import Case
from tests.engine.support import distinct, uniform

SEQUENCES, IMAGES, VOLUMES = (
    distinct(31, 2, 4, 9),
    distinct(7, 2, 4, 7, 6),
    distinct(32, 2, 2, 4, 5, 4),
)
FILTERS, HALF = uniform(9, 6, 4, 3, 2), uniform(11, 6, 2, 2, 3)

SIMPLE, STRIDED = ((1, 1), ((0, 0), (0, 0)), (1, 1), 1), ((2, 1), ((1, 0), (2, 1)), (1, 2), 1)
GROUPED = ((1, 2), ((1, 1), (1, 1)), (2, 1), 2)
CONVOLUTIONS = {
    "": (IMAGES, FILTERS, SIMPLE),
    " strided padded dilated": (IMAGES, FILTERS, STRIDED),
    " in groups": (IMAGES, HALF, GROUPED),
    " of sequences": (SEQUENCES, uniform(33, 6, 2, 3), ((2,), ((2, 1),), (2,), 2)),
    " of volumes": (
        VOLUMES,
        uniform(34, 3, 2, 2, 3, 1),
        ((1, 2, 3), ((1, 0), (0, 2), (1, 1)), (2, 1, 1), 1),
    ),
}
POOLS = {
    "": (IMAGES, (2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    " padded": (IMAGES, (3, 2), (2, 1), ((1, 2), (0, 1)), (1, 1)),
    " dilated": (IMAGES, (2, 3), (1, 2), ((1, 0), (1, 1)), (3, 2)),
    " of sequences": (SEQUENCES, (3,), (2,), ((1, 2),), (1,)),
    " of volumes": (VOLUMES, (2, 3, 2), (2, 1, 3), ((1, 0), (1, 1), (0, 0)), (1, 1, 1)),
}


def conv_like(options):
    stride, padding, dilation, groups = options

    def conv(x, w):
        return lax.conv_general_dilated(
            x, w, stride, padding, rhs_dilation=dilation, feature_group_count=groups
        )

    return conv


def conv_rows(name, x, w, options):
    attributes, conv = (w.shape[2:], *options), conv_like(options)
    gy = uniform(12, *ops.conv(x, w, *options).shape)
    yield f"Conv{name}", Case(lambda x, w: ops.conv(x, w, *options), (x, w), conv)
    yield (
        f"ConvGradInput{name}",
        Case(
            ConvGradInputOp(*attributes, image=x.shape[2:]),
            (gy, w),
            lambda gy, w: jax.vjp(lambda x: conv(x, w), x)[1](gy)[0],
        ),
    )
    yield (
        f"ConvGradWeight{name}",
        Case(
            ConvGradWeightOp(*attributes),
            (gy, x),
            lambda gy, x: jax.vjp(lambda v: conv(x, v), w)[1](gy)[0],
        ),
    )


def transposed(x, w):
    """Dilates x by the stride, then applies a plain convolution with flipped filters."""
    turned = jnp.flip(w, (2, 3)).swapaxes(0, 1)
    padding = ((1, 2 + 1), (1, 0))  # size - 1 - padding, and the output padding
    return lax.conv_general_dilated(x, turned, (1, 1), padding, lhs_dilation=(2, 3))


def wide(options):
    size, stride, padding, dilation = options
    return (
        (1, 1, *size),
        (1, 1, *stride),
        ((0, 0), (0, 0), *padding),
        (1, 1, *[1] * len(size)),
        (1, 1, *dilation),
    )


def max_like(options):
    return lambda x: lax.reduce_window(x, -jnp.inf, lax.max, *wide(options))


def max_of_patches(options):
    """Pools by patches, as jax has no gradient of a dilated reduce_window."""
    size, stride, padding, dilation = options

    def pool(x):
        above = x + 10  # so that zero padding never wins
        patches = lax.conv_general_dilated_patches(
            above, size, stride, padding, rhs_dilation=dilation
        )
        return patches.reshape(*x.shape[:2], -1, *patches.shape[2:]).max(2) - 10

    return pool


def sum_like(options):
    return lambda x: lax.reduce_window(x, 0.0, lax.add, *wide(options))


def avg_like(options, count_padding):
    total = sum_like(options)
    if count_padding:
        return lambda x: total(x) / np.prod(options[0])
    return lambda x: total(x) / total(jnp.ones_like(x))


def lp_like(options, p):
    return lambda x: sum_like(options)(jnp.abs(x) ** p) ** (1 / p)


def picked(options):
    """Gathers g at the maxima of x, by numpy, one window at a time."""
    size, stride, padding, dilation = options

    def pick(g, x):
        widths = ((0, 0), (0, 0), *padding)
        x, g = np.pad(x, widths, constant_values=-np.inf), np.pad(g, widths)
        spans = [d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True)]
        axes = zip(x.shape[2:], spans, stride, strict=True)
        starts = [range(0, n - k + 1, s) for n, k, s in axes]
        windows = [
            tuple(slice(a, a + k, d) for a, k, d in zip(at, spans, dilation, strict=True))
            for at in product(*starts)
        ]
        y = [
            [
                [g[n, c][at].flat[np.argmax(x[n, c][at])] for at in windows]
                for c in range(x.shape[1])
            ]
            for n in range(len(x))
        ]
        return np.reshape(y, (*x.shape[:2], *map(len, starts)))

    return pick


def pool_rows(name, x, *options):
    size, stride, padding, dilation = options
    pool, places = max_like(options), (size, stride, padding)
    y = ops.max_pool(x, *places, dilation)
    gy, other = uniform(13, *y.shape), uniform(8, *x.shape)
    yield f"MaxPool{name}", Case(lambda x: ops.max_pool(x, *places, dilation), (x,), pool)
    yield (
        f"MaxPoolGrad{name}",
        Case(
            lambda gy: MaxPoolGradOp(*options)(gy, x.astype(gy.dtype), y.astype(gy.dtype)),
            (gy,),
            lambda gy: jax.vjp(max_of_patches(options), x)[1](gy)[0],
        ),
    )
    yield (
        f"MaxPoolPick{name}",
        Case(
            lambda g: MaxPoolPickOp(*options)(g, x.astype(g.dtype), y.astype(g.dtype)),
            (other,),
            lambda g: picked(options)(g, x),
        ),
    )
    for count in (False, True):
        more, average = f"{name} {'all' if count else 'inside'}", avg_like(options, count)
        back = AvgPoolGradOp(*options, count, image=x.shape[2:])
        yield (
            f"AvgPool{more}",
            Case(lambda x, count=count: ops.avg_pool(x, *places, count, dilation), (x,), average),
        )
        yield (
            f"AvgPoolGrad{more}",
            Case(back, (gy,), lambda gy, f=average: jax.vjp(f, x)[1](gy)[0]),
        )
    for p in (2, 3.5):
        yield (
            f"AvgPool{name} in lp_pool {p}",
            Case(lambda x, p=p: ops.lp_pool(x, *places, p, dilation), (x,), lp_like(options, p)),
        )


CASES = {
    **{row: case for name, o in CONVOLUTIONS.items() for row, case in conv_rows(name, *o)},
    "ConvGradInput transposed, with a rest": Case(
        lambda x, w: ops.conv_transpose(x, w, (15, 16), (2, 3), ((1, 0), (0, 1))),
        (IMAGES, uniform(35, 4, 3, 3, 2)),
        transposed,
    ),
    **{row: case for name, o in POOLS.items() for row, case in pool_rows(name, *o)},
}
