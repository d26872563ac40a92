"""Rows for resizing and for unfolding into windows."""

import jax
from jax import lax

from sparkdl.engine import ops
from sparkdl.engine.ops.spatial.resize import ResizeGradOp
from sparkdl.engine.ops.spatial.unfold import FoldOp
from tests.engine.cases.case import Case
from tests.engine.cases.windows import IMAGES, POOLS, SEQUENCES, VOLUMES
from tests.engine.support import uniform

SIZES = {
    " twice": (IMAGES, (14, 12)),
    " larger and smaller": (IMAGES, (9, 4)),
    " of sequences": (SEQUENCES, (27,)),
    " of volumes": (VOLUMES, (4, 10, 8)),
}


def resize_like(space, linear):
    method = "linear" if linear else "nearest"
    return lambda x: jax.image.resize(x, (*x.shape[:2], *space), method, antialias=False)


def resize_rows(name, x, space):
    gy = uniform(38, *x.shape[:2], *space)
    for linear in (False, True):
        like, which = resize_like(space, linear), "linear" if linear else "nearest"
        yield (
            f"Resize {which}{name}",
            Case(lambda x, linear=linear: ops.resize(x, space, linear), (x,), like),
        )
        yield (
            f"ResizeGrad {which}{name}",
            Case(
                ResizeGradOp(tuple(x.shape[2:]), linear),
                (gy,),
                lambda gy, like=like: jax.vjp(like, x)[1](gy)[0],
            ),
        )


def unfold_rows(name, x, *options):
    size, stride, padding, dilation = options

    def like(x):
        return lax.conv_general_dilated_patches(x, size, stride, padding, rhs_dilation=dilation)

    gy = uniform(39, *ops.unfold(x, *options).shape)
    yield f"Unfold{name}", Case(lambda x: ops.unfold(x, *options), (x,), like)
    yield (
        f"Fold{name}",
        Case(FoldOp(*options, x.shape[2:]), (gy,), lambda gy: jax.vjp(like, x)[1](gy)[0]),
    )


CASES = {
    **{row: case for name, o in SIZES.items() for row, case in resize_rows(name, *o)},
    **{row: case for name, o in POOLS.items() for row, case in unfold_rows(name, *o)},
}
