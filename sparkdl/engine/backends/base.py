"""The contract of a backend, and how one is found by name."""

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Protocol

from sparkdl.errors import UnsupportedError

AUTO = "auto"
PROCESSOR = "the processor"
MODULES = {
    "reference": "sparkdl.engine.backends.reference",
    "cuda": "sparkdl.engine.backends.cuda.backend",
    "onednn": "sparkdl.engine.backends.onednn.backend",
}
PROBES = {
    "cuda": "sparkdl.engine.backends.cuda.device.gpu_selection"
}  # modules that look for a backend's device


@dataclass(frozen=True)
class Kernel:
    """A call without arguments that fills the outputs it was made for.

    `note` says why no faster kernel of the backend was taken; it is empty where one was. `ahead`
    are calls to be made before it where what the backend holds has changed; see Backend.hold.
    """

    call: object
    name: str
    note: str = ""
    ahead: tuple = ()


class Backend(Protocol):
    """Lowers nodes to kernels: `lower` is given the arrays and returns a call bound to them.

    All that others ask of a backend stands here; a module of MODULES has one as BACKEND.
    """

    name: str
    device_name: str  # the device in words: PROCESSOR, or a text that no two GPUs share
    note: str  # what `describe` of each program says of the backend, such as what is missing
    rewrites: tuple  # functions Graph -> Graph, applied in order before memory is planned
    decodes: tuple  # types of stored images that programs take with what is to be done to them

    def fresh(self):
        """Returns the backend for one program, whose kernels share nothing with other programs'."""

    def empty(self, size):
        """Returns `size` bytes of uninitialized memory of the device, aligned to 64."""

    def array(self, part, shape):
        """Returns a flat part of the arena as an array of this shape, in the backend's layout."""

    def constant(self, value):
        """Returns a numpy array that never changes, where kernels can read it."""

    def hold(self, arrays):
        """Takes the arrays that change seldom: kernels may keep them in a layout of their own."""

    def copy(self, source, to) -> Kernel:
        """Returns the kernel that copies an array to another of its shape and type."""

    def vector(self, values):
        """Returns a numpy array, with `open()`, that programs may be bound to, parts of it too.

        That gives an array of the host, the same each time, for the caller to read and write until
        the next program runs.
        """

    def link(self, vectors):
        """Returns a link.Link that sums these {name: vector} over the devices of several processes.

        None where the backend computes on no device; UnsupportedError without the library.
        """

    def lend(self, vectors):
        """Returns a lent.Lent of these {name: vector}, for another library of this process.

        None where the backend computes on no device.
        """

    def program(self, graph, bindings=None, strict=False, tf32=False, constant_bindings=False):
        """Returns a compiled graph; see Program.

        `tf32` allows float32 factors of products to be rounded to 11 bits, where that is faster. A
        backend that does not know `constant_bindings` works out all in each run.
        """

    def in_sequence(self, calls):
        """Returns the calls of a program, at the same places, for when all run in this order."""

    def leave_sequence(self):
        """Gives back what calls of a sequence hold that was interrupted between two of them."""

    def lower(self, node, inputs, outputs) -> Kernel:
        """Returns the kernel of a node with `inputs` and `outputs` fixed for the program's life."""


def names():
    """Returns the backends that this version has."""
    return sorted(MODULES)


def get(name):
    """Returns the backend called `name`; "auto" is the fastest whose library is here.

    Raises
    ------
    UnsupportedError, naming those there are, or the library that is missing.
    """
    if name == AUTO:
        return fastest()
    if name not in MODULES:
        raise UnsupportedError(f"backend must be one of {[AUTO, *names()]}, got {name!r}")
    return import_module(MODULES[name]).BACKEND


def absent(name):
    """Returns why a backend's device is absent, without asking it; None where it may be here.

    Loads neither the backend nor a library of the device's.
    """
    return import_module(PROBES[name]).absent() if name in PROBES else None


def installed(name):
    """Returns whether the package that reaches a backend's device is here; loads nothing."""
    return name not in PROBES or import_module(PROBES[name]).installed()


@lru_cache(maxsize=1)
def fastest():
    """Returns oneDNN if it loads, else the reference, which keeps the reason for describe()."""
    try:
        return get("onednn")
    except UnsupportedError as error:
        reference = get("reference")
        return type(reference)(note=str(error))
