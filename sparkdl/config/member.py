"""Families of configurations, whose saved members are identified by type."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, ClassVar, Self

from sparkdl.config.config import Config, build
from sparkdl.config.dataclass import dataclass
from sparkdl.config.names import find_name, object_advice, one_of, suggestion
from sparkdl.errors import ConfigError, brief


class Members(MutableMapping[str, type]):
    """{name: class} of a family, with the module of a class imported on first access.

    Parameters
    ----------
    package : str, optional
        A package with `MEMBERS`, {name: its module}. None: members are known once their modules
        are imported.
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
        """Returns the class of this name defined before or outside `module`, or None."""
        if name in self._known or self._homes.get(name, module) != module:
            return self[name]
        return None


class UnknownMember(ConfigError):
    """Raised for an unknown member name; its module may not have been imported yet."""


@dataclass(frozen=True, kw_only=True)
class Member(Config):
    """Base of family members: direct subclasses found a family, classes below them register in it.

    The registered name is the class name unless the class line gives another: `class
    Relu(ActivationFunction, name="relu")`. `abstract=True` skips registration. A founder may name a
    `package` that imports its members lazily.
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
        """Returns the member named by `options["type"]`, with the other keys as its options."""
        if not isinstance(options, dict) or "type" not in options:
            raise ConfigError(f"{cls.__name__} needs a 'type', got {brief(options)}")
        member = cls.find(options["type"], f"{cls.__name__} type must be ")
        return build(member, {k: v for k, v in options.items() if k != "type"})

    @classmethod
    def find(cls, name: Any, where_must_be: str) -> type[Any]:
        """Returns the class registered as `name`, ignoring case.

        Raises UnknownMember, a ConfigError with the nearest name, if there is none.
        """
        match = find_name(name, cls.members)
        if match is None:
            family = founder(cls).__name__
            if isinstance(name, str):
                hint = suggestion(name, cls.members, family, [f"{family} type"])
            else:
                hint = object_advice(name, cls.members, family)
            end = f", got {brief(name)}{hint}"
            raise UnknownMember(f"{where_must_be}{one_of(cls.members, end)}")
        return cls.members[match]


def register(cls):
    """Registers a class in its family; only a redefinition may reuse a name (a notebook cell)."""
    old = cls.members.other(cls.type_name, cls.__module__)
    if old and (old.__module__, old.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ConfigError(
            f"{cls.type_name!r} is already the name of {old.__module__}.{old.__name__}"
        )
    cls.members[cls.type_name] = cls


def founder(cls):
    """Returns the class that founded the family of `cls`."""
    return next(one for one in cls.__mro__ if Member in one.__bases__)
