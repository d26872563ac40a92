"""Methods that refuse unknown options and suggest the right ones."""

from collections.abc import Callable, Collection
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from sparkdl.config.foreign_calls import ELSEWHERE, cure_of
from sparkdl.config.names import suggestion
from sparkdl.config.separate_labels import refuse_separate_labels
from sparkdl.errors import ConfigError, brief

P = ParamSpec("P")
R = TypeVar("R")


def refuse_unknown_options(method: Callable[P, R]) -> Callable[P, R]:
    """Makes a method raise ConfigError for unknown options, with a suggestion.

    An error of a constructor names its class. Features and labels passed as two arrays are refused
    as well. The signature is kept for help(), editors and type checkers.
    """
    home, _, call = method.__qualname__.rpartition(".")
    known = list(signature(method).parameters)[1:]

    @wraps(method)
    def checked(*values: P.args, **options: P.kwargs) -> R:
        unknown = next((name for name in options if name not in known), None)
        if unknown is not None:
            owner = known_class(values[0], home) if values else home
            raise unknown_option(unknown, known, owner, call)
        if known[:1] == ["data"] and len(values) > 1:
            refuse_separate_labels(known_class(values[0], home), call, known, values[1:])
        return method(*values, **options)

    return checked


def unknown_option(name: str, known: Collection[str], owner: str, call: str) -> ConfigError:
    """Returns the error for an option that a method of a class does not have, with a suggestion."""
    cure = cure_of(name, owner, call, known) or suggestion(name, known)
    place = owner if call == "__init__" else f"{owner}.{call}"
    return ConfigError(f"{place} has no option {brief(name)}{cure}")


def known_class(one: object, home: str) -> str:
    """Returns the public class of `one`, such as SparkNetwork, or by default `home`."""
    names = {key.partition(".")[0] for key in ELSEWHERE if "." in key}
    return next((kind.__name__ for kind in type(one).__mro__ if kind.__name__ in names), home)
