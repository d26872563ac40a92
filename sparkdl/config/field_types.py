"""Types of fields that accept other values than they store: "relu" is stored as Relu().

Type checkers check assignments against the second type and reads against the first. At run time
only the constraint of the field matters.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Never, TypeAlias, TypeVar

import numpy as np

Kept = TypeVar("Kept", covariant=True)
Given = TypeVar("Given", contravariant=True)
T = TypeVar("T")


class Coerced(Generic[Kept, Given]):
    """The type of a field that stores a `Kept` made from a `Given`."""

    if TYPE_CHECKING:

        def __get__(self, owner: object, cls: type | None = None) -> Kept: ...

        def __set__(self, owner: object, value: Given) -> None: ...


# a member of a family, its name, or its options including "type"
AnyOf: TypeAlias = Coerced[T, T | str | Mapping[str, Any]]
OptionalAnyOf: TypeAlias = Coerced[T | None, T | str | Mapping[str, Any] | None]

# a configuration, or its options
OptionalNested: TypeAlias = Coerced[T | None, T | Mapping[str, Any] | None]

# lists become tuples, a single value a tuple of one
Several: TypeAlias = Coerced[tuple[T, ...], Sequence[T]]
OptionalSeveral: TypeAlias = Coerced[tuple[T, ...] | None, Sequence[T] | None]
SeveralAnyOf: TypeAlias = Coerced[tuple[T, ...], Sequence[T | str | Mapping[str, Any]]]
OptionalSeveralAnyOf: TypeAlias = Coerced[
    tuple[T, ...] | None, Sequence[T | str | Mapping[str, Any]] | None
]
OneOrMore: TypeAlias = Coerced[tuple[T, ...], T | Sequence[T] | np.ndarray]

# one number for all axes, or one per axis
Axes: TypeAlias = Coerced[int | tuple[int, ...], int | Sequence[int]]
OptionalAxes: TypeAlias = Coerced[int | tuple[int, ...] | None, int | Sequence[int] | None]
TwoSizes: TypeAlias = Coerced[tuple[int, int], int | Sequence[int]]
OptionalTwoSizes: TypeAlias = Coerced[tuple[int, int] | None, int | Sequence[int] | None]
TwoNumbers: TypeAlias = Coerced[tuple[float, float], float | Sequence[float]]
Amount: TypeAlias = Coerced[int | tuple[Any, ...], int | Sequence[int] | Sequence[Sequence[int]]]
AmountOrWord: TypeAlias = Coerced[
    int | str | tuple[Any, ...], int | str | Sequence[int] | Sequence[Sequence[int]]
]
NamedShapes: TypeAlias = Coerced[
    tuple[tuple[str, tuple[int, ...]], ...],
    Mapping[str, Sequence[int]] | Sequence[tuple[str, Sequence[int]]],
]

PathName: TypeAlias = Coerced[str, str | PathLike[str]]
PathNames: TypeAlias = Coerced[
    str | tuple[str, ...], str | PathLike[str] | Sequence[str | PathLike[str]]
]
Shorthand: TypeAlias = Coerced[Never, T]  # becomes another field, so it cannot be read
