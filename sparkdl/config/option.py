"""Options: fields of a configuration with a constraint, a documentation and a default."""

from dataclasses import MISSING, dataclass, field, fields, replace
from inspect import get_annotations
from typing import Any

from sparkdl.config.constraints import Optional, Requirement
from sparkdl.config.dataclass import default_of, fields_of_bases


@dataclass(frozen=True, kw_only=True)
class Option:
    """The constraint and the documentation of a field, besides its name and default.

    Parameters
    ----------
    constraint : Requirement
    text : str
        What the option does, in a sentence or more.
    unit : str
        What a number counts: "seconds", "bytes".
    """

    constraint: Requirement
    text: str
    unit: str = ""


def option(
    constraint: Requirement,
    text: str,
    *,
    default: Any = MISSING,
    factory: Any = MISSING,
    unit: str = "",
    kw_only: bool = True,
    repr: bool = True,
) -> Any:
    """Makes a dataclass field whose values `constraint` checks and `text` documents.

    Parameters
    ----------
    constraint : Requirement
        With a default of None, None is allowed as well.
    text : str
    default : object, optional
        Without one the option must be given.
    factory : function, optional
        Makes a default that cannot be shared, such as a dict.
    unit : str
    kw_only : bool
        Whether it must be given by its name.
    repr : bool
        Whether the repr of the configuration shows it, and others are equal by it: not so arrays.
    """
    if default is None and not isinstance(constraint, Optional):
        constraint = Optional(of=constraint)
    about = Option(constraint=constraint, text=text, unit=unit)
    start = {"default": default} if factory is MISSING else {"default_factory": factory}
    return field(**start, kw_only=kw_only, repr=repr, compare=repr, metadata={"option": about})


def option_of(item, cls):
    """Returns the Option of a dataclass field as it is for `cls`, or None where it has none."""
    about = item.metadata.get("option")
    if about is None:
        return None
    constraint = about.constraint.for_class(cls)
    if default_of(item) is None and not isinstance(constraint, Optional):
        constraint = Optional(of=constraint)
    return about if constraint is about.constraint else replace(about, constraint=constraint)


def options_of(cls):
    """Returns {field: Option or None} of a class, made once: each instance is checked by it."""
    if "_options" not in cls.__dict__:
        cls._options = {item.name: option_of(item, cls) for item in fields(cls)}
    return cls._options


def adopt_options(cls):
    """Gives a field that is declared again with a plain default the option of the base class.

    So `rate: float = 1.0` in a subclass changes the default and nothing else.
    """
    inherited = fields_of_bases(cls)
    for name in get_annotations(cls):
        base, default = inherited.get(name), cls.__dict__.get(name, MISSING)
        if base is None or "option" not in base.metadata or hasattr(default, "metadata"):
            continue
        setattr(cls, name, field(default=default, kw_only=base.kw_only, metadata=base.metadata))
