"""Serializable options: frozen dataclasses that convert to dicts and back without loss."""

from contextlib import suppress
from dataclasses import MISSING, fields
from inspect import Signature
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from sparkdl.config.constraints.base import scalar
from sparkdl.config.dataclass import FrozenFields, dataclass, default_of
from sparkdl.config.documentation import Docstring, signature_of
from sparkdl.config.names import suggestion
from sparkdl.config.option import adopt_options, option, options_of
from sparkdl.errors import LONGEST, ConfigError, brief


class ConfigType(type):
    """Metaclass of configurations: raises ConfigError for unknown, repeated or missing names."""

    __doc__ = type.__dict__["__doc__"]  # pydoc looks here for the docstring of a class

    def __call__(cls, *values, **options):
        named = cls.options_by_name(values)
        for name in named:
            if name in options:
                raise ConfigError(f"{cls.__name__} got {name!r} twice")
        return cls.make(named | options)

    def make(cls, options):
        """Returns the configuration with these options; all must be known and none missing."""
        options = cls.expand_shorthands(options)
        check_names(cls, options)
        return super().__call__(**options)

    @property
    def __signature__(cls) -> Signature:
        """The options, for help() and editors, which would otherwise show `__call__`'s."""
        return signature_of(cls)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
@dataclass(frozen=True, kw_only=True)
class Config(FrozenFields, metaclass=ConfigType):
    """Base of all parts of a saved configuration.

    Lists become tuples and numpy scalars Python numbers, so that options written in Python, JSON or
    YAML compare equal.
    """

    complete: ClassVar[bool] = False  # whether to_dict includes defaults
    shorthands: ClassVar[tuple[str, ...]] = ()  # extra names that `expand_shorthands` accepts

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        adopt_options(cls)
        cls.__doc__ = Docstring(cls.__doc__)

    @classmethod
    def options_by_name(cls, values: tuple[Any, ...]) -> dict[str, Any]:
        """Returns {name: value} of positional arguments."""
        return by_place(cls, values)

    @classmethod
    def expand_shorthands(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Returns {field: value} of `options`, with shorthands expanded."""
        return options

    def __post_init__(self) -> None:
        for name in options_of(type(self)):
            value = check_field(type(self), name, getattr(self, name))
            object.__setattr__(self, name, value)
        self.validate()

    def validate(self) -> None:
        """Raises ConfigError if options that are valid alone contradict each other."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the options that differ from their defaults, as dicts, lists and scalars.

        If the class is `complete`, defaults are included. Raises ConfigError for values without a
        text form, such as functions and arrays.
        """
        every = {item.name: getattr(self, item.name) for item in fields(self)}
        options = every if self.complete else self.chosen()
        owner = type(self).__name__
        return {name: to_plain(value, f"{owner}.{name}") for name, value in options.items()}

    def chosen(self) -> dict[str, Any]:
        """Returns {name: value} of options that differ from their defaults or have none."""
        needed_first = sorted(fields(self), key=is_optional)
        values = [(item, getattr(self, item.name)) for item in needed_first]
        return {i.name: value for i, value in values if not is_default(type(self), i, value)}

    def __str__(self) -> str:
        return format_value(self)

    @classmethod
    def from_dict(cls, options: Any) -> Self:
        """Returns the configuration written by `to_dict`.

        Raises
        ------
        ConfigError
            For an unknown key, a missing one, or a value out of range.
        """
        return build(cls, options)


def build(cls, options):
    """Returns an instance of `cls` with the mapping `options`.

    Raises ConfigError for unknown or missing options.
    """
    if not isinstance(options, dict):
        raise ConfigError(f"{cls.__name__} needs a mapping of its options, got {brief(options)}")
    return cls.make(options)


def check_names(cls, options):
    """Raises ConfigError for names that `cls` does not know and for missing ones."""
    known = options_of(cls)
    for name in options:
        if name not in known:
            kinds = [base.__name__ for base in cls.__mro__]
            hint = suggestion(name, [*known, *cls.shorthands], kinds=kinds)
            raise ConfigError(f"{cls.__name__} has no field {brief(name)}{hint}")
    if options.keys() >= known.keys():
        return
    for item in fields(cls):
        if item.name not in options and not is_optional(item):
            raise ConfigError(f"{cls.__name__} needs the field {item.name!r}")


def by_place(cls, values):
    """Returns {name: value} of positional arguments."""
    places = [item.name for item in fields(cls) if not item.kw_only]
    if len(values) <= len(places):
        return dict(zip(places, values, strict=False))
    more = values[len(places) :]
    by_name = (item for item in fields(cls) if item.kw_only and item.name != "name")
    likely = sorted(by_name, key=is_optional)
    text = next(filter(None, (assignment(cls, item.name, more) for item in likely)), None)
    cure = f"; write {text}" if text else ""
    raise ConfigError(f"{cls.__name__} takes options by name only{cure}")


def assignment(cls, name, values):
    """Returns how to give an option the first value, or all as a list; None if neither fits."""
    for value, text in ((values[0], brief(values[0])), (list(values), "[...]")):
        with suppress(ConfigError):
            check_field(cls, name, value)
            return f"{name}={text}" if len(text) < LONGEST else f"{name}=[...]"
    return None


def is_optional(item):
    """Returns whether a dataclass field has a default."""
    return item.default is not MISSING or item.default_factory is not MISSING


def check_field(cls, name, value):
    """Returns `value` as the field `name` of `cls` stores it.

    Raises ConfigError if it violates the field's constraint.
    """
    about = options_of(cls)[name]
    if about is None:
        return plain(value)
    return about.constraint.check(value, f"{cls.__name__}.{name}")


def plain(value: Any) -> Any:
    """Returns `value` with sequences as tuples and numpy scalars as Python ones."""
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    return scalar(value)


def to_plain(value, where):
    """Returns `value` as JSON types; a lower-case member without options becomes its name."""
    if isinstance(value, Config):
        options = value.to_dict()
        return (
            options["type"] if list(options) == ["type"] and is_word(options["type"]) else options
        )
    if isinstance(value, tuple):
        return [to_plain(item, where) for item in value]
    if isinstance(value, dict):
        return {key: to_plain(item, where) for key, item in value.items()}
    if callable(value) or isinstance(value, np.ndarray):
        raise ConfigError(f"{where} must be text or numbers to be written, got {brief(value)}")
    return value


def format_value(value):
    """Formats `value` as a short text with only the chosen options."""
    if isinstance(value, Config):
        options = ", ".join(f"{name}={format_value(v)}" for name, v in value.chosen().items())
        return f"{type(value).__name__}({options})"
    return f"({', '.join(map(format_value, value))})" if isinstance(value, tuple) else repr(value)


def is_word(name: Any) -> bool:
    """Returns whether a type is named by a word ("relu") rather than by its class ("Dense")."""
    return name.islower()


def is_default(cls, item, value):
    """Returns whether `value` is the default of the field."""
    default = default_of(item)
    if default is MISSING or default is None:
        return value is default
    return bool(value == check_field(cls, item.name, default))
