"""The constraint that a value is a member of a family, its name, or a dict of its options."""

from typing import Any

from sparkdl.config.constraints.base import Requirement, inside, scalar
from sparkdl.config.constraints.numbers import Number, is_integer
from sparkdl.config.dataclass import dataclass


@dataclass(frozen=True, kw_only=True)
class Of(Requirement):
    """A member of `family`.

    Parameters
    ----------
    family : type
        The founder of a family, a direct subclass of Member.
    number : Number, optional
        The constraint of a plain number that is accepted instead of a member.
    """

    family: type[Any]
    number: Number | None = None

    @property
    def phrase(self) -> str:
        return f"{self.number_or}{with_article(self.family.__name__)}"

    @property
    def plural(self) -> str:
        return f"{self.number_or}members of {self.family.__name__}"

    @property
    def number_or(self) -> str:
        return f"{self.number.phrase} or " if self.number else ""

    def check(self, value: Any, where: str) -> Any:
        if isinstance(value, self.family):
            return value
        if isinstance(value, dict):
            with inside(where):
                return self.family.from_dict(value)
        if self.number and is_numeric(scalar(value)):
            return self.check_by(self.number, value, where)
        member = self.family.find(value, f"{where or 'type'} must be {self.number_or}")
        with inside(where):
            return member()


def with_article(name: Any) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def is_numeric(value: Any) -> bool:
    """Returns whether `value` is meant as a number, including NaN."""
    return isinstance(value, float) or is_integer(value)
