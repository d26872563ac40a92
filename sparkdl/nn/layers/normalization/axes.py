"""The constraint on the axes that a layer normalizes."""

from dataclasses import dataclass
from typing import Any

from sparkdl.config import Integer, Requirement, Sequence
from sparkdl.errors import ConfigError

AXIS = Integer()


@dataclass(frozen=True, kw_only=True)
class Axes(Requirement):
    """An axis, or several; negative ones count from the end."""

    phrase, plural = "an integer or a tuple of them", "axes"

    def check(self, value: Any, where: str) -> Any:
        if isinstance(value, list | tuple) and value:
            return Sequence(of=AXIS).check(value, where)
        try:
            return AXIS.check(value, where)
        except ConfigError:
            self.refuse(value, where)
