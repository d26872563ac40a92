"""Constraints on single numbers. A bool is not a number here, nor is a text."""

from math import isfinite
from typing import Any

from sparkdl.config.constraints.base import Requirement, scalar
from sparkdl.config.dataclass import dataclass

LARGEST_INTEGER = 2**63 - 1
LARGEST_SIZE = 2**31 - 1
LARGEST_FLOAT32 = 3.4028234663852886e38


@dataclass(frozen=True, kw_only=True)
class Range(Requirement):
    """Base of numbers with bounds.

    `minimum` and `maximum` are inclusive, `above` and `below` exclusive.
    """

    one = many = ""

    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    below: float | None = None

    @property
    def phrase(self) -> str:
        return f"{self.one} {self.bounds}".rstrip()

    @property
    def plural(self) -> str:
        return f"{self.many} {self.bounds}".rstrip()

    @property
    def bounds(self) -> str:
        """The range in words: ">= 1", "above 0", "in [0, 1)"."""
        low, high = (self.minimum, self.above), (self.maximum, self.below)
        if any_given(low) and any_given(high):
            start = f"[{self.minimum}" if self.above is None else f"({self.above}"
            end = f"{self.maximum}]" if self.below is None else f"{power_of_2(self.below)})"
            return f"in {start}, {end}"
        names = {">=": self.minimum, "above": self.above, "<=": self.maximum, "below": self.below}
        return " ".join(f"{word} {bound}" for word, bound in names.items() if bound is not None)

    def holds(self, number: float) -> bool:
        """Returns whether `number` is within the bounds."""
        return (
            (self.minimum is None or number >= self.minimum)
            and (self.above is None or number > self.above)
            and (self.maximum is None or number <= self.maximum)
            and (self.below is None or number < self.below)
        )


def power_of_2(bound):
    """Returns 2^63 as that text, smaller bounds unchanged."""
    return "2^63" if bound == 2**63 else bound


def any_given(bounds):
    return any(bound is not None for bound in bounds)


@dataclass(frozen=True, kw_only=True)
class Integer(Range):
    """An int.

    Parameters
    ----------
    limit : int
        The largest absolute value that the program supports, mentioned only in the error.
    """

    one, many = "an integer", "integers"

    limit: int = LARGEST_INTEGER

    def check(self, value: Any, where: str) -> Any:
        number = scalar(value)
        if not is_integer(number) or not self.holds(number):
            self.refuse(value, where, cure_for(value))
        if abs(number) > self.limit:
            self.refuse(value, where, f"the largest possible is {self.limit}")
        return number


@dataclass(frozen=True, kw_only=True)
class Size(Integer):
    """The length of an axis of an array."""

    limit: int = LARGEST_SIZE


@dataclass(frozen=True, kw_only=True)
class Number(Range):
    """An int or float that is finite, also as float32."""

    one, many = "a number", "numbers"

    @property
    def phrase(self) -> str:
        return super().phrase if self.bounds else "a finite number"

    def check(self, value: Any, where: str) -> Any:
        number = scalar(value)
        if not is_number(number) or not self.holds(number):
            self.refuse(value, where, cure_for(value))
        if abs(number) > LARGEST_FLOAT32:
            self.refuse(value, where, f"the largest possible is {LARGEST_FLOAT32:.3g}")
        return number


def is_number(value: Any) -> bool:
    """Returns whether `value` is an int or a finite float."""
    if isinstance(value, float):
        return isfinite(value)
    return is_integer(value)


def is_integer(value, minimum=None):
    """Returns whether `value` is a Python or numpy int of at least `minimum`; bools are not."""
    number = scalar(value)
    sound = isinstance(number, int) and not isinstance(number, bool)
    return sound and (minimum is None or number >= minimum)


def cure_for(value: Any) -> str:
    """Returns the advice for a number written as text, or ""."""
    if not isinstance(value, str) or len(value) > 40:
        return ""
    try:
        float(value)
    except ValueError:
        return ""
    return "write it without quotes"
