"""The constraint that a value meets one of several others."""

from typing import Any

from sparkdl.config.constraints.base import Requirement
from sparkdl.config.dataclass import dataclass
from sparkdl.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Either(Requirement):
    """Accepts what any of the constraints `of` allows; the first one that accepts decides.

    An error about a part of the value is raised unchanged, as it says more than one about the
    whole.
    """

    of: tuple[Requirement, ...]

    @property
    def phrase(self) -> str:
        return " or ".join(one.phrase for one in self.of)

    @property
    def plural(self) -> str:
        return " or ".join(one.plural for one in self.of)

    def check(self, value: Any, where: str) -> Any:
        for one in self.of:
            try:
                return one.check(value, where)
            except ConfigError as error:
                if not str(error).startswith(f"{where} must be "):
                    raise
        self.refuse(value, where)
