"""Transforms that move pixels, and other columns whose pixels they move alike."""

from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Sequence, Text, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.data.batches.batch import Batch
from sparkdl.data.transforms.base import Chance, Transform, column_of
from sparkdl.data.transforms.pixels import as_pixels
from sparkdl.errors import ShapeError, require


@dataclass(frozen=True, kw_only=True)
class GeometricTransform(Transform, abstract=True):
    """A transform that moves pixels. Columns named in `targets`, such as masks, move with them.

    The same random numbers move an image and its targets. Targets keep their values: where an
    image is interpolated, they take the nearest pixel. A batch needs these columns in training; at
    inference those that it has are moved.

    A subclass also defines `move`, and the rest of a Transform.
    """

    needs_equal_sizes: ClassVar[bool] = True  # of an image and its targets

    targets: Several[str] = option(
        Sequence(of=Text(what="a name")),
        'Other columns to move with the images, such as "labels" where each pixel has a label.',
        default=(),
    )

    @property
    def interpolates(self) -> bool:
        """Whether pixels of `column` become means of several."""
        return False

    def validate(self) -> None:
        super().validate()
        distinct = len({self.column, *self.targets}) == 1 + len(self.targets)
        require(self, "targets", distinct, f"different columns other than {self.column!r}")

    def apply(self, batch: Batch, chance: Chance | None) -> Batch:
        names = self.targets
        if chance is None:  # records to predict have no labels
            names = tuple(name for name in names if name in batch.columns)
        changed = super().apply(batch, chance)
        return changed.replace(**{name: self._move_column(batch, name, chance) for name in names})

    def move(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        """Returns a target (n, C, H, W) moved as the images are; `x` is not written to."""
        raise NotImplementedError

    def in_shapes(self, shapes: dict[str, Any]) -> dict[str, Any]:
        known = [name for name in self.targets if name in shapes]
        moved = {name: self._shape_of_target(name, shapes[name]) for name in known}
        return super().in_shapes(shapes) | moved

    def _move_column(self, batch, name, chance):
        """Returns a column (n, H, W) or (n, C, H, W) moved as the images are."""
        x = np.asarray(column_of(self, "targets", name, batch))
        self._require_pixels(name, x.shape[1:])
        images = as_pixels(column_of(self, "column", self.column, batch))
        if self.needs_equal_sizes and x.shape[-2:] != images.shape[-2:]:
            raise ShapeError(
                f"{type(self).__name__}.targets must have the size of the images, "
                f"{tuple(images.shape[-2:])}: {name} has {x.shape[1:]}"
            )
        return self.move(x, chance) if x.ndim == 4 else self.move(x[:, None], chance)[:, 0]

    def _shape_of_target(self, name, shape):
        """Returns the shape of records of a target that becomes `shape`."""
        self._require_pixels(name, shape)
        try:
            return self.in_shape((1, *shape)[-3:])[-len(shape) :]
        except ShapeError as error:
            raise ShapeError(f"{error}; {name!r} is one of {type(self).__name__}.targets") from None

    def _require_pixels(self, name, shape):
        if len(shape) not in (2, 3):
            owner = f"{type(self).__name__}.targets"
            needed = f"{owner} must have a value for each pixel, (H, W) or (C, H, W): {name}"
            raise ShapeError(f"{needed} has {tuple(shape)}")
