"""Options that can be written down: frozen dataclasses that become dicts and come back equal.

`Config` is one set of options. `Member` is one of a family (the layers, the updaters ...) that a
saved configuration names by its type.
"""

from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from typing import ClassVar

import numpy as np

from sparkdl.errors import ConfigError


def of(family, *, many=False, number=False):
    """Metadata of a dataclass field that holds a member of `family`, or its name, or a dict of it.

    Parameters
    ----------
    family : type
        The family, a direct subclass of Member.
    many : bool
        Whether the field holds a tuple of members (given as any sequence).
    number : bool
        Whether a plain number may stand in place of a member.
    """
    return {"family": family, "many": many, "number": number}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of everything that a saved configuration holds.

    Lists become tuples and numpy scalars plain numbers, so that options are equal whether they
    were written in Python, JSON or YAML.
    """

    def __post_init__(self):
        for item in fields(self):
            value = plain(getattr(self, item.name))
            if "family" in item.metadata:
                value = member(self, item, value)
            object.__setattr__(self, item.name, value)

    def to_dict(self):
        """The options that differ from their defaults, as plain dicts, lists and scalars."""
        return {name: written(value) for name, value in self.chosen().items()}

    def chosen(self):
        """{name: value} of the options that differ from their defaults, those without one first."""
        needed_first = sorted(fields(self), key=lambda item: default_of(item) is not MISSING)
        values = [(i.name, getattr(self, i.name), default_of(i)) for i in needed_first]
        return {name: value for name, value, default in values if not same(value, default)}

    def __str__(self):
        return shown(self)

    @classmethod
    def from_dict(cls, options):
        """The configuration that `to_dict` wrote.

        Raises
        ------
        ConfigError
            For an unknown key, a missing one, or a value out of its range.
        """
        return build(cls, options)


@dataclass(frozen=True, kw_only=True)
class Member(Config):
    """One of a family. A direct subclass founds a family; defining a class below it registers it.

    The registered name is the class name, unless the class line gives another:
    `class Relu(ActivationFunction, name="relu")`. `abstract=True` leaves a class out.
    """

    members: ClassVar[dict[str, type]]
    type_name: ClassVar[str]

    def __init_subclass__(cls, *, name=None, abstract=False, **kwargs):
        super().__init_subclass__(**kwargs)
        if Member in cls.__bases__:
            cls.members = {}
        elif not abstract:
            cls.type_name = name or cls.__name__
            register(cls)

    def to_dict(self):
        """{"type": its name} and the options that differ from their defaults."""
        return {"type": self.type_name} | super().to_dict()

    @classmethod
    def from_dict(cls, options):
        """The member that `options["type"]` names, with the other keys as its options."""
        if "type" not in options:
            raise ConfigError(f"{cls.__name__} needs a 'type', got {dict(options)!r}")
        found = cls.find(options["type"], f"{cls.__name__} type must be ")
        return build(found, {k: v for k, v in options.items() if k != "type"})

    @classmethod
    def find(cls, name, where_must_be):
        """The class registered as `name`; ConfigError with the nearest name otherwise."""
        if not isinstance(name, str) or name not in cls.members:
            known = ", ".join(sorted(cls.members))
            hint = nearest(name, cls.members)
            raise ConfigError(f"{where_must_be}one of {known}, got {name!r}{hint}")
        return cls.members[name]


def register(cls):
    """Enter a class in its family. Only the same class may be defined again (a notebook cell)."""
    old = cls.members.get(cls.type_name)
    if old and (old.__module__, old.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ConfigError(
            f"{cls.type_name!r} is already the name of {old.__module__}.{old.__name__}"
        )
    cls.members[cls.type_name] = cls


def build(cls, options):
    """`cls` with `options`, if it knows them all and gets all it needs."""
    if not isinstance(options, dict):
        raise ConfigError(f"{cls.__name__} needs a mapping of its options, got {options!r}")
    allowed = {item.name: item for item in fields(cls)}
    for key in options:
        if key not in allowed:
            raise ConfigError(f"{cls.__name__} has no field {key!r}{nearest(key, allowed)}")
    for name, item in allowed.items():
        if default_of(item) is MISSING and name not in options:
            raise ConfigError(f"{cls.__name__} needs the field {name!r}")
    return cls(**options)


def nearest(name, known):
    """ "; did you mean 'units'?" or nothing."""
    close = get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def member(config, item, value):
    """`value` of the field `item`, with names and dicts replaced by members of its family."""
    if value is None and default_of(item) is None:
        return None
    where, one = f"{type(config).__name__}.{item.name}", item.metadata
    if not one["many"]:
        return one_member(where, one, value)
    if not isinstance(value, tuple):
        raise ConfigError(f"{where} must be a sequence, got {value!r}")
    return tuple(one_member(f"{where}[{i}]", one, v) for i, v in enumerate(value))


def one_member(where, kind, value):
    """The member that `value` is, names, or describes."""
    family = kind["family"]
    if isinstance(value, family):
        return value
    if kind["number"] and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return family.from_dict(value)
    return build(family.find(value, f"{where} must be {'a number or ' * kind['number']}"), {})


def plain(value):
    """`value` with sequences as tuples and numpy scalars as Python ones."""
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    return value.item() if isinstance(value, np.generic) else value


def written(value):
    """`value` as JSON has it. A member without options is its name where names are lower case."""
    if isinstance(value, Config):
        options = value.to_dict()
        return (
            options["type"] if list(options) == ["type"] and is_word(options["type"]) else options
        )
    return [written(item) for item in value] if isinstance(value, tuple) else value


def shown(value):
    """`value` as a short text: only options that were chosen."""
    if isinstance(value, Config):
        options = ", ".join(f"{name}={shown(v)}" for name, v in value.chosen().items())
        return f"{type(value).__name__}({options})"
    return f"({', '.join(map(shown, value))})" if isinstance(value, tuple) else repr(value)


def is_word(name):
    """Whether a type is known by a word ("relu") rather than by its class ("Dense")."""
    return name.islower()


def same(value, default):
    """Whether `value` may be left out: equal to `default`, itself or once it is a member."""
    return written(value) == (written(default) if default is not MISSING else MISSING)


def default_of(item):
    """The default of a dataclass field, or MISSING."""
    return item.default if item.default_factory is MISSING else item.default_factory()
