"""Validation of the arguments of zoo functions, before layers are built."""

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from sparkdl.config import Boolean, Requirement, Size, Text
from sparkdl.config import Sequence as Several
from sparkdl.errors import ConfigError
from sparkdl.nn.networks.base import LAYOUT

P = ParamSpec("P")
R = TypeVar("R")

FEWEST = {"numbers": 0, "depth": 0, "layers": 0, "fields": 1}  # if not 1, or 0 for sequences


def check_arguments(**fewest: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function check its arguments; a ConfigError names the function and the argument.

    Parameters
    ----------
    fewest : {argument: number}
        The smallest number, or the smallest length of a sequence, if not the default.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        of = signature(function)
        least = FEWEST | fewest
        rules = {name: rule(one.annotation, least.get(name)) for name, one in of.parameters.items()}

        @wraps(function)
        def checked(*values: P.args, **options: P.kwargs) -> R:
            owner = function.__name__
            for name in options:
                if name in LAYOUT and name not in of.parameters:
                    raise ConfigError(
                        f"{owner}.{name} must be left out, as {owner} sets it; a NetworkConf or "
                        "GraphConf takes any"
                    )
            try:
                given = of.bind(*values, **options)
            except TypeError:
                return function(*values, **options)  # its error names the argument
            for name, value in given.arguments.items():
                needed = rules[name]
                if needed is not None and value is not None:
                    given.arguments[name] = needed.check(value, f"{owner}.{name}")
                elif needed is not None and of.parameters[name].annotation != int | None:
                    needed.refuse(value, f"{owner}.{name}")
            return function(*given.args, **given.kwargs)

        return checked

    return decorate


def rule(annotation: Any, least: int | None) -> Requirement | None:
    """Returns the requirement for values of a type, or None if layers and options check them."""
    if annotation in (int, int | None):
        return Size(minimum=1 if least is None else least)
    kinds = {Sequence[int]: Size(minimum=1), Sequence[str]: Text(what="a name")}
    if annotation in kinds:
        return Several(of=kinds[annotation], minimum=least or 0)
    return Boolean() if annotation is bool else None
