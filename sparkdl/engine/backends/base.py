"""The interface of a backend, and lookup by name."""

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from threading import RLock
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
LOCK = RLock()


@dataclass(frozen=True)
class Kernel:
    """A call without arguments that fills the outputs it was made for.

    `note` tells why no faster kernel was chosen, empty if one was. `ahead` are calls to make first
    whenever the arrays held by the backend have changed; see Backend.hold.
    """

    call: object
    name: str
    note: str = ""
    ahead: tuple = ()


class Backend(Protocol):
    """Lowers nodes to kernels: `lower` is given the arrays and returns a call bound to them.

    This is all that the rest of the package uses of a backend; each module in MODULES has one as
    BACKEND, which may be made at the first access.
    """

    name: str
    device_name: str  # the device in words: PROCESSOR, or a text unique to each GPU
    note: str  # shown by every program's `describe`, such as a missing library
    rewrites: tuple  # functions Graph -> Graph, applied in order before memory is planned
    decodes: tuple  # formats of stored images that programs decode themselves

    def fresh(self):
        """Returns the backend for one program, whose kernels share nothing with other programs."""

    def empty(self, size):
        """Returns `size` bytes of uninitialized device memory, aligned to 64."""

    def array(self, part, shape):
        """Returns a flat part of the arena as an array of this shape in the backend's layout."""

    def constant(self, value):
        """Returns a constant numpy array in memory that kernels can read."""

    def hold(self, arrays):
        """Declares arrays that rarely change, which kernels may cache in their own layout."""

    def copy(self, source, to) -> Kernel:
        """Returns the kernel that copies an array to another of its shape and dtype."""

    def vector(self, values):
        """Returns a vector, initialized from a numpy array, that programs can be bound to.

        Its `open()` returns a host array, the same each time, which the caller may read and write
        until the next program runs. Programs may also be bound to parts of it.
        """

    def link(self, vectors):
        """Returns a link.DeviceLink that sums {name: vector} over devices of several processes.

        None if the backend has no device; UnsupportedError without the library.
        """

    def lend(self, vectors):
        """Returns a lent.Lent of {name: vector}, for another library of this process.

        None if the backend has no device.
        """

    def program(self, graph, bindings=None, strict=False, tf32=False, constant_bindings=False):
        """Compiles a graph; see Program.

        `tf32` allows float32 factors of products to be rounded to 11 bits if that is faster. A
        backend without support for `constant_bindings` computes everything in each run.
        """

    def choose_threads(self, *sequences):
        """Is told all nodes that `lower` will get, as sequences whose kernels run in order."""

    def in_sequence(self, calls):
        """Returns the calls of a program, position by position, adapted to run in this order."""

    def leave_sequence(self):
        """Releases what the calls of an interrupted sequence hold."""

    def lower(self, node, inputs, outputs) -> Kernel:
        """Returns the kernel of a node; `inputs` and `outputs` are fixed for the program's life."""


def names():
    """Returns the names of all backends."""
    return sorted(MODULES)


def get(name):
    """Returns the backend called `name`; "auto" is the fastest whose library is installed.

    Raises
    ------
    UnsupportedError, naming the known backends or the missing library.
    """
    if name == AUTO:
        return fastest()
    if name not in MODULES:
        raise UnsupportedError(f"backend must be one of {[AUTO, *names()]}, got {name!r}")
    with LOCK:  # else several threads may make one each
        return import_module(MODULES[name]).BACKEND


def absent(name):
    """Returns why a backend's device is absent, or None if it may be present.

    Neither asks the device nor loads the backend or a library of the device.
    """
    return import_module(PROBES[name]).absent() if name in PROBES else None


def installed(name):
    """Returns whether the package that drives a backend's device is installed; loads nothing."""
    return name not in PROBES or import_module(PROBES[name]).installed()


@lru_cache(maxsize=1)
def fastest():
    """Returns oneDNN if it loads, else the reference with the reason as its note."""
    try:
        return get("onednn")
    except UnsupportedError as error:
        reference = get("reference")
        return type(reference)(note=str(error))
