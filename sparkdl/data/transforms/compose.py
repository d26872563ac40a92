"""Sequences of transforms."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sparkdl.config import Of, Requirement, Sequence, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.data.batches.batch import Batch
from sparkdl.data.transforms.base import Chance, Transform
from sparkdl.data.transforms.scale import Scale
from sparkdl.errors import require

SEVERAL = Sequence(of=Of(family=Transform))


@dataclass(frozen=True, kw_only=True)
class Compose(Transform):
    """Applies several transforms one after another.

    Each draws its own random numbers, by its position: two Mirrors are independent.
    """

    transforms: Several[Transform] = option(
        SEVERAL,
        "Transforms, in the order in which they are applied.",
        default=(),
    )

    if TYPE_CHECKING:

        def __init__(self, *transforms: Transform | Iterable[Transform]) -> None: ...

    @classmethod
    def options_by_name(cls, values: tuple[Any, ...]) -> dict[str, Any]:
        alone = len(values) == 1 and isinstance(values[0], list | tuple)
        return {"transforms": values[0] if alone else values} if values else {}

    def validate(self) -> None:
        super().validate()
        cure = "each of its transforms has a column of its own"
        require(self, "column", self.column == "features", "left out", cure)
        object.__setattr__(self, "transforms", tuple(flatten_transforms(self.transforms)))

    def apply(self, batch: Batch, chance: Chance | None) -> Batch:
        for place, transform in enumerate(self.transforms):
            batch = transform.apply(batch, None if chance is None else chance.at(place))
        return batch

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for transform in self.transforms:
            shape = transform.out_shape(shape)
        return shape

    def in_shape(self, shape: Any) -> Any:
        for transform in reversed(self.transforms):
            shape = transform.in_shape(shape)
        return shape

    def in_shapes(self, shapes: dict[str, Any]) -> dict[str, Any]:
        for transform in reversed(self.transforms):
            shapes = transform.in_shapes(shapes)
        return shapes


def in_order(transforms: Iterable[Any], scale: Any) -> Any:
    """Combines transforms and a final Scale into one; returns None if there is nothing to do."""
    remaining = [*transforms, *([] if scale == Scale() else [scale])]
    return Compose(remaining) if len(remaining) > 1 else (remaining or [None])[0]


def flatten_transforms(transforms):
    """Yields the transforms, with those inside a Compose in its place."""
    for one in transforms:
        yield from one.transforms if isinstance(one, Compose) else (one,)


@dataclass(frozen=True, kw_only=True)
class TransformRequirement(Requirement):
    """The transform of minibatches; a list of transforms is combined into one."""

    phrase = "a Transform, a list of them, or a function Batch to Batch"
    plural = "transforms or functions Batch to Batch"

    def check(self, value, where):
        if isinstance(value, list | tuple):
            return in_order(SEVERAL.check(value, where), Scale())
        if isinstance(value, type):
            self.refuse(value, where, f"write {value.__name__}(...)")
        if callable(value):
            return value
        if not isinstance(value, str | dict):
            self.refuse(value, where)
        return SEVERAL.of.check(value, where)


def as_transform(given: Any) -> Any:
    """Returns what was given as `transform`: a function, a list of transforms as one, or None.

    Raises ConfigError for anything else.
    """
    return None if given is None else TransformRequirement().check(given, "transform")
