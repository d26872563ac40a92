"""Options that a saved configuration names by their type: a dict of plain values, and back."""

from dataclasses import fields
from difflib import get_close_matches
from typing import ClassVar

from sparkdl.errors import ConfigError


class Family:
    """Base of frozen dataclasses of one kind. A direct subclass founds a family.

    Every class below the founder is known by its name. Options are numbers, words or None; one that
    is of another family is declared with that family as its type.
    """

    members: ClassVar[dict[str, type]]

    def __init_subclass__(cls):
        if Family in cls.__bases__:
            cls.members = {}
        else:
            cls.members[cls.__name__] = cls

    def to_dict(self):
        """{"type": the class's name} and all options, as JSON has them."""
        options = {item.name: getattr(self, item.name) for item in fields(self)}
        return {"type": type(self).__name__} | {k: written(v) for k, v in options.items()}

    @classmethod
    def from_dict(cls, options):
        """The member that `options` describes: a dict that has "type", a bare name, or a member.

        Raises
        ------
        ConfigError
            For an unknown type or option, or a value out of its range.
        """
        if isinstance(options, cls):
            return options
        options = {"type": options} if isinstance(options, str) else options
        if not isinstance(options, dict) or "type" not in options:
            raise ConfigError(f"{cls.__name__} needs a mapping that has 'type', got {options!r}")
        made = cls.find(options["type"])
        given = {k: read(made, k, v) for k, v in options.items() if k != "type"}
        try:
            return made(**given)
        except TypeError as error:  # an option without a default is missing
            raise ConfigError(f"{made.__name__}: {error}") from None

    @classmethod
    def find(cls, name):
        """The class of that name; ConfigError with the nearest name otherwise."""
        if not isinstance(name, str) or name not in cls.members:
            known = ", ".join(sorted(cls.members))
            hint = nearest(name, cls.members)
            raise ConfigError(f"{cls.__name__} type must be one of {known}, got {name!r}{hint}")
        return cls.members[name]


def written(value):
    return value.to_dict() if isinstance(value, Family) else value


def read(made, key, value):
    """`value` for the option `key` of the class `made`."""
    kinds = {item.name: item.type for item in fields(made)}
    if key not in kinds:
        raise ConfigError(f"{made.__name__} has no field {key!r}{nearest(key, kinds)}")
    kind = kinds[key]
    return kind.from_dict(value) if isinstance(kind, type) and issubclass(kind, Family) else value


def nearest(name, known):
    close = get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
