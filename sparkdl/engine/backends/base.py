"""The contract of a backend, and how one is found by name."""

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from sparkdl.errors import UnsupportedError

MODULES = {"reference": "sparkdl.engine.backends.reference"}


@dataclass(frozen=True)
class Kernel:
    """A call without arguments that fills the outputs it was made for.

    `note` says why no faster kernel of the backend was taken; it is empty where one was.
    """

    call: object
    name: str
    note: str = ""


class Backend(Protocol):
    """Lowers nodes to kernels: `lower` is given the arrays and returns a call bound to them."""

    name: str
    rewrites: tuple  # functions Graph -> Graph, applied in order before memory is planned

    def empty(self, size):
        """`size` bytes of uninitialised memory of the device, aligned to 64."""

    def lower(self, node, inputs, outputs) -> Kernel:
        """The kernel that computes `outputs` from `inputs`, all fixed for the program's life."""


def names():
    """The backends that this version has."""
    return sorted(MODULES)


def get(name):
    """The backend called `name`.

    Raises
    ------
    UnsupportedError, naming those there are.
    """
    if name not in MODULES:
        raise UnsupportedError(f"backend must be one of {names()}, got {name!r}")
    return import_module(MODULES[name]).BACKEND
