"""Families of configurations, whose saved members are distinguished by their type."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, ClassVar, Self

from sparkdl.config.config import Config, build
from sparkdl.config.dataclass import dataclass
from sparkdl.config.names import find_name, one_of, suggestion
from sparkdl.errors import ConfigError, brief


class Members(MutableMapping[str, type]):
    """{name: class} of a family. A class whose module nobody has imported is, when it is asked for.

    Parameters
    ----------
    package : str, optional
        One that has `MEMBERS`, {name: its module}. None: founding the family imports all of them.
    """

    def __init__(self, package: str | None = None) -> None:
        self.package = package
        self._homes: dict[str, str] = import_module(package).MEMBERS if package else {}
        self._known: dict[str, type] = {}

    def __getitem__(self, name: str) -> type:
        if name not in self._known:
            import_module(self._homes[name])
        return self._known[name]

    def __setitem__(self, name: str, cls: type) -> None:
        self._known[name] = cls

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes | self._known)

    def __len__(self) -> int:
        return len(self._homes | self._known)

    def other(self, name: str, module: str) -> type | None:
        """Returns the class of this name that is there before `module` defines it, or None."""
        if name in self._known or self._homes.get(name, module) != module:
            return self[name]
        return None


class UnknownMember(ConfigError):
    """A family has no member of a name; a document may be of one whose module nobody imported."""


@dataclass(frozen=True, kw_only=True)
class Member(Config):
    """One of a family. A direct subclass founds a family; defining a class below it registers it.

    The registered name is the class name, unless the class line gives another:
    `class Relu(ActivationFunction, name="relu")`. `abstract=True` leaves a class out. A founder's
    line says which `package` imports its members late, if one does.
    """

    members: ClassVar[Members]
    type_name: ClassVar[str]

    def __init_subclass__(cls, *, name=None, abstract=False, package=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if Member in cls.__bases__:
            cls.members = Members(package)
        elif not abstract:
            cls.type_name = name or cls.__name__
            register(cls)

    def to_dict(self) -> dict[str, Any]:
        """Returns {"type": its name} and the options that differ from their defaults."""
        return {"type": self.type_name} | super().to_dict()

    @classmethod
    def from_dict(cls, options: Any) -> Self:
        """Returns the member that `options["type"]` names, with the other keys as its options."""
        if not isinstance(options, dict) or "type" not in options:
            raise ConfigError(f"{cls.__name__} needs a 'type', got {brief(options)}")
        member = cls.find(options["type"], f"{cls.__name__} type must be ")
        return build(member, {k: v for k, v in options.items() if k != "type"})

    @classmethod
    def find(cls, name: Any, where_must_be: str) -> type[Any]:
        """Returns the class registered as `name`, in any case.

        Raises ConfigError with the nearest otherwise.
        """
        match = find_name(name, cls.members)
        if match is None:
            end = f", got {brief(name)}{suggestion(name, cls.members, founder(cls).__name__)}"
            raise UnknownMember(f"{where_must_be}{one_of(cls.members, end)}")
        return cls.members[match]


def register(cls):
    """Enters a class in its family. Only the same class may be defined again (a notebook cell)."""
    old = cls.members.other(cls.type_name, cls.__module__)
    if old and (old.__module__, old.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ConfigError(
            f"{cls.type_name!r} is already the name of {old.__module__}.{old.__name__}"
        )
    cls.members[cls.type_name] = cls


def founder(cls):
    """Returns the class that founded the family of `cls`."""
    return next(one for one in cls.__mro__ if Member in one.__bases__)
