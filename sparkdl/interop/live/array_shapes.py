"""Names and shapes of a model's arrays, and the constraint on them in a document."""

from dataclasses import dataclass
from typing import Any

from sparkdl.config import Requirement, Sequence, Size
from sparkdl.errors import ConfigError

SHAPE = Sequence(of=Size(minimum=0))


@dataclass(frozen=True, kw_only=True)
class ArrayShapes(Requirement):
    """Pairs of name and shape, with unique names."""

    phrase = "pairs (name, shape), each name once"
    plural = f"lists of {phrase}"

    def check(self, value: Any, where: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
        try:
            pairs = tuple((name, SHAPE.check(shape, where)) for name, shape in value)
        except (TypeError, ValueError, ConfigError):
            self.refuse(value, where)
        names = {name for name, _ in pairs if isinstance(name, str)}
        return pairs if len(names) == len(pairs) else self.refuse(value, where)


def shapes_of(arrays: list[tuple[str, Any]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Returns (name, shape) for each pair of a name and an array of the model's framework."""
    return tuple((name, tuple(array.shape)) for name, array in arrays)
