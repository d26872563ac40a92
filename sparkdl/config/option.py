"""Options: fields of a configuration with a constraint, documentation and a default."""

from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

from sparkdl.config.constraints import Optional, Requirement
from sparkdl.config.dataclass import annotations_of, default_of, fields_of_bases


@dataclass(frozen=True, kw_only=True)
class Option:
    """The constraint and documentation of a field.

    Parameters
    ----------
    constraint : Requirement
    text : str
        What the option does, in a sentence or more.
    unit : str
        The unit of a number: "seconds", "bytes".
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
    """Makes a dataclass field that is checked by `constraint` and documented by `text`.

    Parameters
    ----------
    constraint : Requirement
        If the default is None, None is allowed too.
    text : str
    default : object, optional
        Without one, the option is required.
    factory : function, optional
        Makes the default, for values that must not be shared, such as a dict.
    unit : str
    kw_only : bool
        Whether the option is keyword-only.
    repr : bool
        Whether the option takes part in repr and in equality; False for arrays.
    """
    if default is None and not isinstance(constraint, Optional):
        constraint = Optional(of=constraint)
    about = Option(constraint=constraint, text=text, unit=unit)
    start = {"default": default} if factory is MISSING else {"default_factory": factory}
    return field(**start, kw_only=kw_only, repr=repr, compare=repr, metadata={"option": about})


def option_of(item, cls):
    """Returns the Option of a dataclass field, resolved for `cls`, or None if it has none."""
    about = item.metadata.get("option")
    if about is None:
        return None
    constraint = about.constraint.for_class(cls)
    if default_of(item) is None and not isinstance(constraint, Optional):
        constraint = Optional(of=constraint)
    return about if constraint is about.constraint else replace(about, constraint=constraint)


def options_of(cls):
    """Returns {field: Option or None} of a class, cached as each instance is checked by it."""
    if "_options" not in cls.__dict__:
        cls._options = {item.name: option_of(item, cls) for item in fields(cls)}
    return cls._options


def adopt_options(cls):
    """Lets fields redeclared with a plain default inherit the option of the base class.

    So `rate: float = 1.0` in a subclass only changes the default.
    """
    inherited = fields_of_bases(cls)
    for name in annotations_of(cls):
        base, default = inherited.get(name), cls.__dict__.get(name, MISSING)
        if base is None or "option" not in base.metadata or hasattr(default, "metadata"):
            continue
        setattr(cls, name, field(default=default, kw_only=base.kw_only, metadata=base.metadata))
