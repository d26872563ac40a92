"""The constraint on the shape of one example."""

from dataclasses import dataclass

from sparkdl.config import Requirement, Sequence, Size
from sparkdl.errors import ConfigError

LENGTHS = Sequence(of=Size(minimum=1), minimum=1)


@dataclass(frozen=True, kw_only=True)
class ExampleShape(Requirement):
    """The lengths of up to four axes."""

    phrase = "(features,), (steps, features), (channels, height, width) or with depth, each >= 1"
    plural = f"shapes {phrase}"

    def check(self, value, where):
        try:
            shape = LENGTHS.check(value, where)
        except ConfigError:
            self.refuse(value, where)
        return shape if len(shape) <= 4 else self.refuse(value, where)
