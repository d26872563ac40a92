"""Bases of the transforms, which may be random in training and may change shapes."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from sparkdl import philox
from sparkdl.config import FrozenFields, Member, Text, dataclass, option, suggestion
from sparkdl.data.batches.batch import Batch
from sparkdl.data.transforms.pixels import Pixels, as_pixels, compute_pixels
from sparkdl.errors import ConfigError, ShapeError

STREAM = 1 << 31  # first stream of random numbers; layers use those below


@dataclass(frozen=True, kw_only=True)
class Chance(FrozenFields):
    """Random numbers of a minibatch's records.

    They depend only on seed, record, epoch and place, so a record is treated the same in whatever
    worker, partition or minibatch it is.

    Parameters
    ----------
    ids : (n,) uint64
    seed, epoch : int
    place : int
        Position of the transform in its sequence.
    """

    ids: np.ndarray
    seed: int
    epoch: int
    place: int = 0

    def uniform(self, count: int) -> np.ndarray:
        """Returns (n, count) float32 in [0, 1), the same on each call."""
        return philox.uniform(self.ids, self.epoch, count, self.seed, STREAM + self.place)

    def at(self, place: int) -> "Chance":
        """Returns the random numbers for the transform at another position."""
        return Chance(ids=self.ids, seed=self.seed, epoch=self.epoch, place=place)


@dataclass(frozen=True, kw_only=True)
class Transform(Member, package="sparkdl.data.transforms"):
    """A function from Batch to Batch that changes one column of the same records.

    `transform(batch)` is for inference and has no randomness. In training a worker calls
    `transform.in_training(seed, epoch)(batch)`, where random transforms draw.

    A subclass defines `change`, and `out_shape` and `in_shape` if the shape of records changes.
    """

    column: str = option(Text(what="a name"), "Column of the batch to change.", default="features")

    def __call__(self, batch: Batch) -> Batch:
        """Returns the batch transformed without random choices, as a network in use takes it."""
        return compute_pixels(self.apply(batch, None))

    def in_training(self, seed: int, epoch: int, leave: Iterable[str] = ()) -> Any:
        """Returns a function (Batch) -> Batch for the minibatches of an epoch of training.

        Columns stored in one of the types `leave` may come as Pixels, for a device to compute.
        """

        def trained(batch):
            chance = Chance(ids=batch.ids, seed=seed, epoch=epoch)
            return compute_pixels(self.apply(batch, chance), leave)

        return trained

    def apply(self, batch: Batch, chance: "Chance | None") -> Batch:
        """Returns the changed batch; random choices are drawn from `chance` (None: inference)."""
        changed = self.change(self.find_column(batch).numbers(), chance)
        return batch.replace(**{self.column: changed})

    def find_column(self, batch: Batch) -> Pixels:
        """Returns the column to change. Raises ConfigError where the batch has none of its name."""
        return as_pixels(column_of(self, "column", self.column, batch))

    def change(self, x: np.ndarray, chance: "Chance | None") -> np.ndarray:
        """Returns the column (n, ...), `x` itself or a new array; `x` is not written to."""
        raise NotImplementedError

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of a transformed record of `shape`; ShapeError if it does not fit."""
        return shape

    def in_shape(self, shape: Any) -> Any:
        """Returns the shape of records that become examples of `shape`; None is a free size.

        Raises ShapeError where no record does.
        """
        return shape

    def in_shapes(self, shapes: dict[str, Any]) -> dict[str, Any]:
        """Returns `in_shape` for columns {name: shape}."""
        if self.column not in shapes:
            return shapes
        return shapes | {self.column: self.in_shape(shapes[self.column])}


@dataclass(frozen=True, kw_only=True)
class PixelTransform(Transform, abstract=True):
    """A transform of pixels that adds its part to a description, to be computed later.

    A subclass defines `describe` instead of `change`.
    """

    def apply(self, batch: Batch, chance: "Chance | None") -> Batch:
        return batch.replace(**{self.column: self.describe(self.find_column(batch), chance)})

    def describe(self, pixels: Pixels, chance: "Chance | None") -> Pixels:
        """Returns the Pixels with this transform added."""
        raise NotImplementedError


def in_training(transform: Any, seed: int, epoch: int, leave: Iterable[str] = ()) -> Any:
    """Returns the transform for an epoch of training; a plain function ignores the epoch."""
    if isinstance(transform, Transform):
        return transform.in_training(seed, epoch, leave)
    at = getattr(transform, "in_training", None)
    return transform if at is None else at(seed, epoch)


def record_shapes(transform: Any, shapes: dict[str, Any]) -> dict[str, Any]:
    """Returns {column: shape of records} that a source's transform turns into `shapes`.

    The effect of a plain function is unknown: its records must already have these shapes.
    """
    known = getattr(transform, "in_shapes", None)
    return shapes if known is None else known(shapes)


class ResizingTransform(Transform, abstract=True):
    """A transform of images (C, H, W) of any size into images of one `size`."""

    size: Any  # (height, width), an option of each subclass

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (image_shape(self, shape)[0], *self.size)

    def in_shape(self, shape: Any) -> Any:
        require_result(self, self.out_shape(shape), shape)
        return (shape[0], None, None)


def column_of(owner, field, name, batch):
    """Returns a column of a batch that the option `field` of a transform names.

    Raises ConfigError where the batch has none of its name.
    """
    require_column(owner, field, name, list(batch.columns))
    return batch.columns[name]


def require_column(owner, field, name, names):
    """Raises ConfigError unless `names` of a batch's columns have the one that an option names."""
    if name not in names:
        text = f"must be one of the batch's columns {names}, got {name!r}"
        raise ConfigError(f"{type(owner).__name__}.{field} {text}{suggestion(name, names, '')}")


def image_shape(owner, shape, channels=None):
    """Returns `shape` as (C, H, W). Raises ShapeError if it is not that of an image with `channels`
    channels; None: any number.
    """
    if len(shape) != 3 or channels not in (None, shape[0]):
        needed = f"{type(owner).__name__} needs images ({channels or 'C'}, H, W)"
        raise ShapeError(f"{needed}, got {tuple(shape)}")
    return tuple(shape)


def require_result(owner, gives, expected):
    """Raises ShapeError unless a transform gives the expected shape; None takes any size."""
    sizes = zip(gives, expected, strict=False)
    if len(gives) != len(expected) or any(n not in (None, size) for size, n in sizes):
        name = type(owner).__name__
        raise ShapeError(
            f"{name} gives examples of {gives}, but what follows takes {tuple(expected)}"
        )
