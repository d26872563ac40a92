"""Blocks of an image as channels, so that a strided convolution becomes one without stride."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.backends.cuda.kernels.windows import THREADS
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op

TOGETHER = 8  # channels per thread
STEPS = "example", "channel", "row", "column"
NUMBERS = "height", "width", "above", "before", "rows", "columns"
BLOCKS = np.dtype([(n, "i8") for n in STEPS] + [(n, "i4") for n in NUMBERS])


@dataclass(frozen=True)
class SpaceToDepthOp(Op):
    """y (N, channels, *space) of images x (N, C, H, W): y holds block (h, w) of x at (h, w).

    Parameters
    ----------
    block : rows and columns of a block
    before : rows and columns of zeros before those of x
    space : spatial shape of y
    channels : of y, a multiple of 8: block x block x C, C fastest, then zeros
    dtype : numpy type of y
    """

    block: int
    before: tuple[int, int]
    space: tuple[int, int]
    channels: int
    dtype: str

    def shape(self, x):
        return Spec((x.shape[0], self.channels, *self.space), self.dtype)


def space_to_depth(session, op, x, y):
    kinds = {"T": x.dtype.name, "R": y.dtype.name, "BLOCK": op.block}
    kinds |= {"OUT": op.channels, "CHANNELS": x.shape[1]}
    function = session.family("space_to_depth.cu", "space_to_depth", **kinds)
    steps = tuple(s // x.itemsize for s in x.strides)
    blocks = np.array((*steps, *x.shape[2:], *op.before, *op.space), BLOCKS)
    count = y.size // TOGETHER
    values = blocks, np.uint32(count), x, y
    calls = [session.launch(function, session.grid(count, THREADS), THREADS, *values)]
    return calls if count else [], "space_to_depth"
