"""Methods with options of their own: a name that they do not know is refused with the cure."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from sparkdl.config.foreign_calls import cure_of
from sparkdl.config.names import suggestion
from sparkdl.errors import ConfigError, brief

P = ParamSpec("P")
R = TypeVar("R")


def refuse_unknown_options(method: Callable[P, R]) -> Callable[P, R]:
    """Makes a method refuse options that it has not by a ConfigError that says what to do.

    Its signature stays, so that help(), editors and type checkers show what it takes.
    """
    owner, _, call = method.__qualname__.rpartition(".")
    known = list(signature(method).parameters)[1:]

    @wraps(method)
    def checked(*values: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in known:
                cure = cure_of(name, owner, call, known) or suggestion(name, known)
                raise ConfigError(f"{owner}.{call} has no option {brief(name)}{cure}")
        return method(*values, **options)

    return checked
