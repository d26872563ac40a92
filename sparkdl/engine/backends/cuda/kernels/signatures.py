"""Checks of a launch's arguments against the parameters in the kernel's source.

A pointer gives the type of its numbers, not how many there are.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sparkdl.engine.backends.cuda.device.device_array import DeviceArray
from sparkdl.engine.backends.cuda.kernels.modules import C_TYPES
from sparkdl.engine.operands import describe_array, mismatch
from sparkdl.errors import OperandError

KINDS = {text: kind for kind, text in C_TYPES.items()} | {"int": "int32"}
TYPEDEF = re.compile(r"^typedef (\w+) (\w+);$", re.MULTILINE)
PARAMETER = re.compile(r"(?:const |__grid_constant__ )*(.+?) ?(\*?) ?(\w+)$")
HEAD = r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?{}\(([^)]*)\)"


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter; `kind` is a numpy type, or None for structures."""

    name: str
    kind: str | None
    pointer: bool


@dataclass(frozen=True)
class KernelFunction:
    """A function of the driver, and its parameters."""

    name: str
    function: Any
    parameters: tuple

    def check(self, values):
        """Raises OperandError unless the values of a launch match the kernel's parameters."""
        count = len(values)
        for parameter in self.parameters[count:]:
            raise mismatch(
                f"{self.name}: {parameter.name}", describe_parameter(parameter), "nothing"
            )
        if count > len(self.parameters):
            raise OperandError(f"{self.name} takes {len(self.parameters)} values, got {count}")
        for parameter, value in zip(self.parameters, values, strict=True):
            fits = can_point if parameter.pointer else can_pass
            if not fits(parameter.kind, value):
                actual = describe_array(value) if isinstance(value, DeviceArray) else repr(value)
                raise mismatch(
                    f"{self.name}: {parameter.name}", describe_parameter(parameter), actual
                )


def can_point(kind, value):
    """Returns whether a value may be passed as a pointer to numbers of a kind.

    A Scratch has no type yet.
    """
    if isinstance(value, DeviceArray):
        return kind in (None, value.dtype.name) and value.flags.aligned
    return value is None or hasattr(value, "memory")


def can_pass(kind, value):
    """Returns whether a value may be passed by value; ints are passed in 8 bytes."""
    if isinstance(value, DeviceArray) or value is None or hasattr(value, "memory"):
        return False
    if kind is None:
        return True
    if isinstance(value, np.generic | np.ndarray):  # float64 is a float, too
        return value.nbytes == np.dtype(kind).itemsize
    return kind == "float32" if isinstance(value, float) else np.dtype(kind).kind in "iub"


def describe_parameter(parameter):
    where = "the address of " if parameter.pointer else ""
    return f"{where}{parameter.kind or 'a structure'}"


@cache
def parameters(text, name):
    """Returns the Parameters of a kernel in a module's source."""
    words = re.search(HEAD.format(name), text)[1]
    types = {name: kind for kind, name in TYPEDEF.findall(text)}
    return tuple(parameter(" ".join(one.split()), types) for one in words.split(","))


def parameter(text, types):
    kind, star, name = PARAMETER.match(text).groups()
    return Parameter(name, KINDS.get(kind) or KINDS.get(types.get(kind)), bool(star))
