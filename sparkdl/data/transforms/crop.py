"""A part of each image."""

from dataclasses import dataclass

import numpy as np

from sparkdl.data.transforms.base import Transform, as_pair, image_shape, require_result, whole
from sparkdl.errors import ShapeError, require


@dataclass(frozen=True, kw_only=True)
class Crop(Transform):
    """A window of each image: at a random place in training, in the centre in use.

    Parameters
    ----------
    size : int or pair of int
        Height and width.
    random : bool
        False: in the centre in training too.

    References
    ----------
    Caffe's transform_param with crop_size. Where the centre lies between two pixels both take the
    upper left one.
    """

    size: int | tuple[int, int]
    random: bool = True

    def __post_init__(self):
        size = as_pair(self, "size")
        require(self, "size", len(size) == 2 and whole(size, 1), "one or two integers >= 1")

    def change(self, x, chance):
        channels, height, width = self.out_shape(x.shape[1:])
        free = np.array([x.shape[2] - height, x.shape[3] - width])
        if chance is None or not self.random:
            top, left = free // 2
            return np.ascontiguousarray(x[:, :, top : top + height, left : left + width])
        y = np.empty((len(x), channels, height, width), x.dtype)
        places = np.floor(chance.uniform(2) * (free + 1)).astype(int).tolist()
        for i, (top, left) in enumerate(places):
            y[i] = x[i, :, top : top + height, left : left + width]
        return y

    def out_shape(self, shape):
        channels, *sizes = image_shape(self, shape)
        if any(have < want for have, want in zip(sizes, self.size, strict=True)):
            raise ShapeError(
                f"Crop of {self.size} needs images of at least that, got {tuple(shape)}"
            )
        return (channels, *self.size)

    def in_shape(self, shape):
        channels, *_ = image_shape(self, shape)
        require_result(self, (channels, *self.size), shape)
        return (channels, None, None)
