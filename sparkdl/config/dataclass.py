"""Frozen dataclasses that share their methods, which makes defining a class fast.

The standard decorator generates and compiles six methods per class. A process that imports some
hundred of them, as each executor does, would spend most of its start on that.
"""

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields, is_dataclass, replace
from inspect import get_annotations
from reprlib import recursive_repr
from typing import Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

from sparkdl.errors import brief

READING: dict[str, Any] = {}  # how annotations are read
if sys.version_info >= (3, 14):
    from annotationlib import Format

    READING["format"] = Format.FORWARDREF  # a type may be defined later, or never

C = TypeVar("C", bound=type)
# Marks the class as a frozen dataclass, so that dataclasses derived from it must be frozen too.
PARAMS = dataclasses.dataclass(frozen=True)(type("Model", (), {})).__dataclass_params__  # type: ignore[attr-defined]


def dataclass(*, frozen: Literal[True], kw_only: bool = False) -> Callable[[C], C]:
    """Makes a subclass of `FrozenFields` a dataclass, like dataclasses.dataclass but faster.

    Parameters
    ----------
    frozen : bool
        Always True, stated for the reader of the class.
    kw_only : bool
        Whether fields are keyword-only unless they say otherwise.
    """

    def process(cls):
        if not issubclass(cls, FrozenFields):
            raise TypeError(f"{cls.__name__} must be below FrozenFields; dataclasses has another")
        if cls.__init__ is not FrozenFields.__init__:  # a base was made by the standard decorator
            return dataclasses.dataclass(frozen=True, kw_only=kw_only)(cls)
        own = fields_of_body(cls, kw_only)
        cls.__dataclass_fields__ = fields_of_bases(cls) | {item.name: item for item in own}
        cls.__dataclass_params__ = PARAMS
        places = [item.name for item in fields(cls) if not item.kw_only]
        cls.__match_args__ = tuple(places)  # type: ignore[misc]
        for item in own:
            set_default(cls, item)
        return cls

    return process


def fields_of_body(cls, kw_only):
    """Returns the dataclass fields declared in the body of a class."""
    names = annotations_of(cls)
    values = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
    about = {"__annotations__": names, "__module__": cls.__module__, "__doc__": "Alone."}
    alone = type(cls.__name__, (), values | about)  # with a frozen base, methods would be generated
    return fields(dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(alone))


def annotations_of(cls):
    """Returns {name: type} of the body of a class; from Python 3.14 on, types may be unknown."""
    return get_annotations(cls, **READING)


def fields_of_bases(cls):
    """Returns {name: dataclass field} inherited by a class, in the order of the decorator."""
    bases = [base for base in reversed(cls.__mro__[1:]) if is_dataclass(base)]
    return {item.name: item for base in bases for item in fields(base)}


def set_default(cls, item):
    """Leaves a field's default as a class attribute, or removes the attribute."""
    if item.default is not MISSING:
        setattr(cls, item.name, item.default)
    elif item.name in cls.__dict__:
        delattr(cls, item.name)


def default_of(item: Field) -> Any:
    """Returns the default of a dataclass field, or MISSING."""
    return item.default if item.default_factory is MISSING else item.default_factory()


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(dataclasses.field,)
)
class FrozenFields:
    """The methods of a frozen dataclass with arbitrary fields."""

    __dataclass_fields__: ClassVar[dict[str, Field]]

    def __init__(self, *values: Any, **named: Any) -> None:
        for name, value in bind(type(self), values, named).items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Hook called once the fields are set."""

    @recursive_repr()
    def __repr__(self) -> str:
        shown = (f"{i.name}={getattr(self, i.name)!r}" for i in fields(self) if i.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return values_compared(self) == values_compared(other)

    def __hash__(self) -> int:
        return hash(values_compared(self))

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __replace__(self, /, **changes: Any) -> Self:
        return replace(self, **changes)


def bind(cls, values, named):
    """Returns {field: value} of constructor arguments and defaults.

    Raises TypeError, like a function call, if arguments do not match the fields.
    """
    places, items = cls.__match_args__, cls.__dataclass_fields__
    given = dict(zip(places, values, strict=False)) | named
    if len(given) < len(values) + len(named) or not given.keys() <= items.keys():
        raise TypeError(f"{cls.__name__} takes {', '.join(items)} once each, got {brief(given)}")
    found = {n: given[n] if n in given else default_of(item) for n, item in items.items()}
    missing = [name for name, value in found.items() if value is MISSING]
    if missing:
        raise TypeError(f"{cls.__name__} needs {', '.join(missing)}")
    return found


def values_compared(one):
    """Returns the values that decide whether two instances are equal."""
    return tuple(getattr(one, item.name) for item in fields(one) if item.compare)
