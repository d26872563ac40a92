"""The constraint that a value is a configuration of one class, or a mapping of its options."""

from typing import Any

from sparkdl.config.constraints.base import Requirement, inside
from sparkdl.config.constraints.members import with_article
from sparkdl.config.dataclass import dataclass


@dataclass(frozen=True, kw_only=True)
class Nested(Requirement):
    """A Config of the class `of`, or a mapping of its options."""

    of: type[Any]

    @property
    def phrase(self) -> str:
        return f"{with_article(self.of.__name__)} or a mapping of its options"

    @property
    def plural(self) -> str:
        return f"{self.of.__name__} or mappings of options"

    def check(self, value: Any, where: str) -> Any:
        if isinstance(value, self.of):
            return value
        if not isinstance(value, dict):
            self.refuse(value, where)
        with inside(where):
            return self.of.from_dict(value)
