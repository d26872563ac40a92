"""Base of the constraints: a check of one value, and a phrase that describes valid values."""

from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from sparkdl.config.dataclass import FrozenFields, dataclass
from sparkdl.errors import ConfigError, brief


@dataclass(frozen=True, kw_only=True)
class Requirement(FrozenFields):
    """Base of all constraints. Immutable, so fields can share one."""

    @property
    def phrase(self) -> str:
        """The constraint in words, as in "must be an integer >= 1"."""
        raise NotImplementedError

    @property
    def plural(self) -> str:
        """The phrase for several values, as in "a sequence of integers >= 1"."""
        raise NotImplementedError

    def check(self, value: Any, where: str) -> Any:
        """Returns `value` as it is stored: Python numbers, tuples for lists, members for names.

        Raises
        ------
        ConfigError
            If the value violates the constraint; `where` is its "Owner.field".
        """
        raise NotImplementedError

    def for_class(self, cls: type) -> "Requirement":
        """Returns the constraint resolved for the options of `cls`."""
        return self

    def check_by(self, one: "Requirement", value: Any, where: str) -> Any:
        """Returns `value` as the constraint `one` stores it.

        Raises ConfigError in the words of this constraint.
        """
        try:
            return one.check(value, where)
        except ConfigError as error:
            start = f"{where} must be "
            if not str(error).startswith(start + one.phrase):
                raise
            raise ConfigError(str(error).replace(one.phrase, self.phrase, 1)) from None

    def refuse(self, value: Any, where: str, cure: str = "") -> NoReturn:
        """Raises the ConfigError for `value`."""
        end = f"; {cure}" if cure else ""
        raise ConfigError(f"{where} must be {self.phrase}, got {brief(value)}{end}")


LONGEST_PLACE = 120


@contextmanager
def inside(where):
    """Prefixes errors about a part of an option with the path of fields `where`.

    A nested error reads "NetworkConf.layers[2].activation: Elu has no field 'alhpa'". An empty path
    is omitted.
    """
    try:
        yield
    except ConfigError as error:
        if not where:
            raise
        owner, place = error.place.partition(".")[0], error.place
        message = str(error).removeprefix(f"{place}: ") if place else str(error)
        place = shorten(f"{where}{place.removeprefix(owner)}")
        nested = ConfigError(f"{place}: {message}")
        nested.place = place
        raise nested from None


def shorten(place):
    """Returns a path of fields, with the middle of a long one elided."""
    half = LONGEST_PLACE // 2
    return place if len(place) <= LONGEST_PLACE else f"{place[:half]}...{place[-half:]}"


def scalar(value):
    """Returns `value` with numpy scalars converted to Python numbers."""
    return value.item() if isinstance(value, np.generic) else value
