"""Transforms one after the other."""

from dataclasses import dataclass

from sparkdl.config import Of, Sequence, option
from sparkdl.data.transforms.base import Transform
from sparkdl.data.transforms.scale import Scale


@dataclass(frozen=True, kw_only=True)
class Compose(Transform):
    """Several transforms as one: each takes what the one before it gives.

    Each draws random numbers of its own, by its place: two Mirrors do not agree.
    """

    transforms: tuple[Transform, ...] = option(
        Sequence(of=Of(family=Transform)),
        "Transforms, in the order in which they are applied.",
        default=(),
    )

    @classmethod
    def named_options(cls, values):
        alone = len(values) == 1 and isinstance(values[0], list | tuple)
        return {"transforms": values[0] if alone else values} if values else {}

    def validate(self):
        super().validate()
        object.__setattr__(self, "transforms", tuple(flatten_transforms(self.transforms)))

    def apply(self, batch, chance):
        for place, transform in enumerate(self.transforms):
            batch = transform.apply(batch, None if chance is None else chance.at(place))
        return batch

    def out_shape(self, shape):
        for transform in self.transforms:
            shape = transform.out_shape(shape)
        return shape

    def in_shape(self, shape):
        for transform in reversed(self.transforms):
            shape = transform.in_shape(shape)
        return shape

    def in_shapes(self, shapes):
        for transform in reversed(self.transforms):
            shapes = transform.in_shapes(shapes)
        return shapes


def in_order(transforms, scale):
    """Joins transforms and then a Scale into one; None where nothing is left to do."""
    left = [*transforms, *([] if scale == Scale() else [scale])]
    return Compose(left) if len(left) > 1 else (left or [None])[0]


def flatten_transforms(transforms):
    """Yields the transforms; those within a Compose stand beside the others."""
    for one in transforms:
        yield from one.transforms if isinstance(one, Compose) else (one,)
