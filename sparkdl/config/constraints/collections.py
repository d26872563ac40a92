"""Constraints on several values: sequences become tuples, which are comparable and hashable."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparkdl.config.constraints.base import Requirement
from sparkdl.config.constraints.numbers import Size
from sparkdl.config.dataclass import dataclass

LONGEST = 1_000_000
ONE_OR_MORE = Size(minimum=1)
ROWS = {None: "rows", 2: "pairs", 3: "triples"}
TUPLES = {2: "a pair", 3: "three"}
COUNTS = {1: "one", 2: "two", 3: "three", 4: "four"}


@dataclass(frozen=True, kw_only=True)
class Sequence(Requirement):
    """A list or tuple of values that all meet one constraint.

    Parameters
    ----------
    of : Requirement
    length : int, optional
        The exact number of values.
    minimum : int
        The smallest number of values.
    """

    of: Requirement
    length: int | None = None
    minimum: int = 0

    @property
    def phrase(self) -> str:
        if self.length is not None:
            return f"{COUNTS.get(self.length, self.length)} {self.of.plural}"
        if self.minimum == 0:
            return f"a sequence of {self.of.plural}"
        return f"a sequence of {COUNTS.get(self.minimum, self.minimum)} or more {self.of.plural}"

    @property
    def plural(self) -> str:
        return f"{ROWS.get(self.length, f'rows of {self.length}')} of {self.of.plural}"

    def check(self, value: Any, where: str) -> Any:
        if not is_sequence(value) or not self.fits(len(value)):
            self.refuse(value, where, cure_for(value))
        return tuple(self.of.check(item, f"{where}[{i}]") for i, item in enumerate(value))

    def fits(self, length: int) -> bool:
        """Returns whether this number of values is allowed."""
        right = length == self.length if self.length is not None else length >= self.minimum
        return right and length <= LONGEST


@dataclass(frozen=True, kw_only=True)
class Row(Requirement):
    """A list or tuple with a separate constraint per position: (start, rate)."""

    of: tuple[Requirement, ...]

    @property
    def phrase(self) -> str:
        return f"({', '.join(one.phrase for one in self.of)})"

    @property
    def plural(self) -> str:
        return f"rows {self.phrase}"

    def check(self, value: Any, where: str) -> Any:
        if not is_sequence(value) or len(value) != len(self.of):
            self.refuse(value, where, cure_for(value))
        pairs = enumerate(zip(self.of, value, strict=True))
        return tuple(one.check(item, f"{where}[{i}]") for i, (one, item) in pairs)


@dataclass(frozen=True, kw_only=True)
class Sizes(Requirement):
    """One number for all axes, or a tuple with one per axis.

    Parameters
    ----------
    axes : int, optional
        By default the attribute `axes` of the class that has the option.
    of : Requirement
    spread : bool
        Whether a single number is stored as a tuple with one per axis.
    """

    axes: Any = None  # an int, for each class that has the option
    of: Requirement = ONE_OR_MORE
    spread: bool = False

    @property
    def phrase(self) -> str:
        return f"{self.of.phrase} or {self.each}" if self.axes > 1 else self.of.phrase

    @property
    def each(self) -> str:
        """The words for one number per axis."""
        return f"{TUPLES.get(self.axes, self.axes)} of them"

    @property
    def plural(self) -> str:
        return f"sizes ({self.phrase} each)"

    def for_class(self, cls: type[Any]) -> Requirement:
        return self if self.axes else replace(self, axes=cls.axes)

    def check(self, value: Any, where: str) -> Any:
        if not is_sequence(value):
            number = self.check_by(self.of, value, where)
            return (number,) * self.axes if self.spread else number
        if self.axes == 1 or len(value) != self.axes:
            self.refuse(value, where)
        return tuple(self.of.check(item, f"{where}[{i}]") for i, item in enumerate(value))


@dataclass(frozen=True, kw_only=True)
class Mapping(Requirement):
    """A mapping, stored as a new dict.

    Parameters
    ----------
    keys, values : Requirement
    minimum : int
        The smallest number of keys.
    """

    keys: Requirement
    values: Requirement
    minimum: int = 0

    @property
    def phrase(self) -> str:
        return f"a mapping of {self.keys.plural} to {self.values.plural}"

    @property
    def plural(self) -> str:
        return f"mappings of {self.keys.plural} to {self.values.plural}"

    def check(self, value: Any, where: str) -> Any:
        if not isinstance(value, dict) or not self.minimum <= len(value) <= LONGEST:
            self.refuse(value, where)
        return {
            self.keys.check(key, f"{where} key"): self.values.check(item, f"{where}[{key!r}]")
            for key, item in value.items()
        }


def is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple)


def cure_for(value):
    """Returns the advice for an array, or ""."""
    return "give array.tolist()" if isinstance(value, np.ndarray) and value.ndim else ""
