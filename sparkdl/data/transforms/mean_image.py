"""Subtraction of the mean image of a data set."""

from functools import cached_property
from tokenize import TokenError
from typing import Any

import numpy as np

from sparkdl.config import Instance, Path, dataclass, option
from sparkdl.data import files
from sparkdl.data.transforms.base import Chance, PixelTransform, require_result
from sparkdl.data.transforms.pixels import Pixels
from sparkdl.errors import DataError, ShapeError, require

# What numpy raises for headers that are no Python literals, or absurd shapes, among others
REFUSALS = (
    *(ValueError, TypeError, IndexError, OverflowError, SyntaxError, TokenError),
    *(EOFError, OSError, MemoryError, RecursionError),
)


@dataclass(frozen=True, kw_only=True)
class MeanImage(PixelTransform):
    """Subtracts a mean image: features become float32 x - mean. Place it before a Crop.

    References
    ----------
    Caffe's transform_param with mean_file.
    """

    mean: np.ndarray | None = option(
        Instance(of=(np.ndarray, list, tuple), what="an array (C, H, W)"),
        "Mean to subtract; also with a leading axis of 1, as Caffe keeps it.",
        default=None,
        repr=False,
    )
    path: str | None = option(
        Path(),
        "A .npy file of the mean, on any file system; give either `mean` or `path`.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        one = (self.mean is None) != (self.path is None)
        require(self, "path", one, "given if and only if mean is not")

    @cached_property
    def image(self) -> np.ndarray:
        """float32 (C, H, W)"""
        array = np.asarray(self.mean) if self.path is None else read(self.path)
        image = array.astype(np.float32)
        return image[0] if image.ndim == 4 and len(image) == 1 else image

    def describe(self, pixels: Pixels, chance: Chance | None) -> Pixels:
        self.out_shape(pixels.shape[1:])
        return pixels.with_mean(self.image)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if tuple(shape) != self.image.shape:
            raise ShapeError(f"MeanImage is of {self.image.shape}, got images {tuple(shape)}")
        return tuple(shape)

    def in_shape(self, shape: Any) -> Any:
        require_result(self, self.image.shape, shape)
        return self.image.shape


def read(path):
    """Reads the numbers of a .npy file on any file system. Raises DataError."""
    with files.open(path) as content:
        try:
            array = np.lib.format.read_array(content, allow_pickle=False)
        except REFUSALS as error:
            raise DataError(f"{path}: cannot be read as .npy: {error}") from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{path}: must hold numbers, got {array.dtype}")
    return array
