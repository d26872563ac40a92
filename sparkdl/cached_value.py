"""Attributes that are computed on first use."""

from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


class cached_value(cached_property[T]):
    """A cached_property without the lock that all objects of a class share in Python 3.11.

    Under that lock the fits of two threads would wait for each other's jobs.
    """

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        name, values = str(self.attrname), vars(instance)
        if name not in values:
            values[name] = self.func(instance)
        return values[name]
