"""Base of the constraints: a check of one value, and a phrase for what passes it."""

from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from sparkdl.config.dataclass import FrozenFields, dataclass
from sparkdl.errors import ConfigError, brief


@dataclass(frozen=True, kw_only=True)
class Requirement(FrozenFields):
    """Base of all constraints. Immutable, so a field can share one with others."""

    @property
    def phrase(self) -> str:
        """The constraint in words, as in "must be an integer >= 1"."""
        raise NotImplementedError

    @property
    def plural(self) -> str:
        """The phrase for several values, as in "a sequence of integers >= 1"."""
        raise NotImplementedError

    def check(self, value: Any, where: str) -> Any:
        """Returns `value` as it is kept: Python's numbers, tuples for lists, members for names.

        Raises
        ------
        ConfigError
            If the value breaks the constraint; `where` is its "Owner.field".
        """
        raise NotImplementedError

    def for_class(self, cls: type) -> "Requirement":
        """Returns the constraint as it is for the options of `cls`."""
        return self

    def check_by(self, one: "Requirement", value: Any, where: str) -> Any:
        """Returns `value` as the constraint `one` keeps it.

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
    """Puts the path of fields `where` in front of errors about a part of an option.

    So a nested error says "NetworkConf.layers[2].activation: Elu has no field 'alhpa'". An empty
    path is left out.
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
    """Returns a path of fields, without its middle where it is long."""
    half = LONGEST_PLACE // 2
    return place if len(place) <= LONGEST_PLACE else f"{place[:half]}...{place[-half:]}"


def scalar(value):
    """Returns `value`, a number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value
