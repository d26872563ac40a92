"""The constraint that a value is a configuration of one class, or a mapping of its options."""

from dataclasses import dataclass

from sparkdl.config.constraints.base import Requirement
from sparkdl.config.constraints.members import with_article


@dataclass(frozen=True, kw_only=True)
class Nested(Requirement):
    """A Config of the class `of`, or a mapping of its options."""

    of: type

    @property
    def phrase(self):
        return f"{with_article(self.of.__name__)} or a mapping of its options"

    @property
    def plural(self):
        return f"{self.of.__name__} or mappings of options"

    def check(self, value, where):
        if isinstance(value, self.of):
            return value
        if not isinstance(value, dict):
            self.refuse(value, where)
        return self.of.from_dict(value)
