"""Constraints on objects that only Python code can pass, and on optional values."""

from dataclasses import replace
from typing import Any

from sparkdl.config.constraints.base import Requirement
from sparkdl.config.dataclass import dataclass


@dataclass(frozen=True, kw_only=True)
class Optional(Requirement):
    """None, or any value that another constraint allows."""

    of: Requirement

    @property
    def phrase(self) -> str:
        return f"{self.of.phrase} or None"

    @property
    def plural(self) -> str:
        return f"{self.of.plural} or None"

    def for_class(self, cls: type) -> Requirement:
        return replace(self, of=self.of.for_class(cls))

    def check(self, value: Any, where: str) -> Any:
        return None if value is None else self.check_by(self.of, value, where)


@dataclass(frozen=True, kw_only=True)
class Instance(Requirement):
    """An object of a class.

    Parameters
    ----------
    of : type or tuple of type
    what : str
        The description of the classes.
    """

    of: type | tuple[type, ...]
    what: str

    @property
    def phrase(self) -> str:
        return self.what

    @property
    def plural(self) -> str:
        return f"{self.what} each"

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, self.of):
            self.refuse(value, where)
        return value


@dataclass(frozen=True, kw_only=True)
class Callable(Requirement):
    """A function or another callable."""

    phrase, plural = "a function", "functions"

    def check(self, value: Any, where: str) -> Any:
        if not callable(value):
            self.refuse(value, where)
        return value
