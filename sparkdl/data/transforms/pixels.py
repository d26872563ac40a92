"""Descriptions of image transforms, computed here with numpy or by a GPU during training.

Crop, Mirror, MeanImage, Scale and Normalize add their part to a description. All random numbers in
it are already drawn, so every device computes the same result, bit by bit.
"""

from dataclasses import dataclass, replace

import numpy as np

from sparkdl.data.transforms.affine import affine
from sparkdl.data.transforms.float_buffers import float_buffer

WORD = 8  # bytes
AXES = "vertical", "horizontal"  # columns of `turned`


@dataclass(frozen=True, kw_only=True, eq=False)
class Pixels:
    """A column of a batch that is still to be computed. For the window of each image it is

    (images - mean) * factor

    as float32, step by step, then mirrored. Without `wide`, numbers keep their stored type.

    Parameters
    ----------
    images : ndarray (n, ...)
        The stored images, usually (n, C, H, W) uint8.
    size : (height, width) of the window, or None for whole images
    corners : int32 (n, 2), the window's first row and column, or None
    turned : bool (n, 2), whether rows and whether columns come in reverse order, or None
    mean, factor : float32 that broadcasts to a stored image, or None
        The factor is constant within a channel.
    wide : bool
        Whether the result is float32; required with a mean or a factor.
    """

    images: np.ndarray
    size: tuple[int, int] | None = None
    corners: np.ndarray | None = None
    turned: np.ndarray | None = None
    mean: np.ndarray | None = None
    factor: np.ndarray | None = None
    wide: bool = False

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index):
        """Returns the records at a slice or at an array of positions."""
        rows = ("images", "corners", "turned")
        some = {n: getattr(self, n)[index] for n in rows if getattr(self, n) is not None}
        return replace(self, **some)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numbers(), dtype)

    @property
    def shape(self):
        inner = self.images.shape[1:]
        return (len(self.images), *(inner if self.size is None else (*inner[:-2], *self.size)))

    @property
    def dtype(self):
        return np.dtype(np.float32) if self.wide else self.images.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the stored images."""
        return self.images.nbytes

    @property
    def in_place(self) -> bool:
        """True if pixels are not moved: no window, no mirroring."""
        return self.size is None and self.turned is None

    def with_mean(self, mean):
        """Returns the Pixels minus a float32 mean of their current shape."""
        varies = mean.ndim == 3 and mean.shape[1:] != (1, 1)
        fits = self.mean is None and self.factor is None and (self.in_place or not varies)
        return replace(self if fits else self.compute(), mean=mean, wide=True)

    def times(self, factor):
        """Returns the Pixels multiplied by a factor per channel."""
        return replace(self if self.factor is None else self.compute(), factor=factor, wide=True)

    def compute(self):
        """Returns the Pixels with all steps computed."""
        return Pixels(images=self.numbers())

    def numbers(self):
        """Computes the result; returns `images` itself if there is nothing to do."""
        if not self.in_place and self.mean is not None and self.mean.shape[1:] != (1, 1):
            return self._one_by_one()
        images = self.images if self.in_place else self._view()
        return affine(images, self.mean, self.factor) if self.wide else images

    def _view(self):
        """Returns the windows of the stored images, mirrored."""
        x, kind = self.images, self.images.dtype
        y = float_buffer(self.shape) if kind == np.float32 else np.empty(self.shape, kind)
        for i, (window, turns) in enumerate(self._places()):
            part = x[i] if window is None else x[i][window]
            y[i] = mirror_pixels(np.ascontiguousarray(part), *turns) if turns else part
        return y

    def _one_by_one(self):
        """Computes image by image, for a mean that varies within a channel."""
        y = float_buffer(self.shape)
        spare = np.empty(y.shape[1:], np.float32)
        for i, (window, turns) in enumerate(self._places()):
            part = spare if turns else y[i]
            part[...] = self.images[i] if window is None else self.images[i][window]
            part -= self.mean if window is None else self.mean[window]
            if self.factor is not None:
                part *= self.factor
            if turns:
                y[i] = mirror_pixels(part, *turns)
        return y

    def _places(self):
        """Returns each image's window (an index or None) and flips (vertical, horizontal) or ()."""
        windows, turned = [None] * len(self), [()] * len(self)
        if self.size is not None:
            height, width = self.size
            windows = [
                (slice(None), slice(top, top + height), slice(left, left + width))
                for top, left in self.corners.tolist()
            ]
        if self.turned is not None:
            turned = [turns if any(turns) else () for turns in self.turned.tolist()]
        return zip(windows, turned, strict=True)


def mirror_pixels(x, vertical, horizontal):
    x = x[..., ::-1, :] if vertical else x
    return reverse_rows(x) if horizontal else x


def reverse_rows(x):
    """Returns `x` with its last axis reversed.

    Bytes are reversed as words of 8 bytes with swapped byte order, which takes a sixth of the time.
    """
    if x.dtype != np.uint8 or x.shape[-1] % WORD or not x.flags.c_contiguous:
        return x[..., ::-1]
    return x.view(np.uint64)[..., ::-1].byteswap().view(np.uint8)


def as_pixels(column):
    """Returns a column as Pixels."""
    return column if isinstance(column, Pixels) else Pixels(images=column)


def compute_pixels(batch, but=()):
    """Returns the batch with all Pixels computed, except images of the types `but`."""
    waiting = {n: c for n, c in batch.columns.items() if isinstance(c, Pixels)}
    done = {n: c.numbers() for n, c in waiting.items() if c.images.dtype not in but}
    return batch.replace(**done) if done else batch
