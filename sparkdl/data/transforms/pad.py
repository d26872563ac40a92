"""A border around images."""

from dataclasses import dataclass

import numpy as np

from sparkdl.data.transforms.base import Transform, as_pair, image_shape, whole
from sparkdl.errors import require

MODES = "constant", "edge", "reflect"


@dataclass(frozen=True, kw_only=True)
class Pad(Transform):
    """Images with a border. Before a Crop of the old size it moves what is in them.

    Parameters
    ----------
    size : int or pair of int
        Pixels above and below, and to the left and right.
    mode : str
        "constant", "edge" (the outermost pixel again) or "reflect" (without it).
    value : float
        What "constant" fills in.
    """

    size: int | tuple[int, int]
    mode: str = "constant"
    value: float = 0.0

    def __post_init__(self):
        size = as_pair(self, "size")
        require(self, "size", len(size) == 2 and whole(size, 0), "one or two integers >= 0")
        require(self, "mode", self.mode in MODES, f"one of {MODES}")
        require(self, "value", np.isfinite(self.value), "a finite number")

    def change(self, x, chance):
        image_shape(self, x.shape[1:])
        border = [(0, 0), (0, 0), *((n, n) for n in self.size)]
        options = {"constant_values": self.value} if self.mode == "constant" else {}
        return np.pad(x, border, self.mode, **options)

    def out_shape(self, shape):
        channels, *sizes = image_shape(self, shape)
        return (channels, *(have + 2 * n for have, n in zip(sizes, self.size, strict=True)))

    def in_shape(self, shape):
        channels, *sizes = image_shape(self, shape)
        return (channels, *map(self._before, sizes, self.size))

    def _before(self, size, n):
        if size is None:
            return None
        require(self, "size", size > 2 * n, f"less than half of the {size} pixels that follow it")
        return size - 2 * n
