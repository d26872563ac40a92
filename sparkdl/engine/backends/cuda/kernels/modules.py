"""CUDA C by name: the source of a kernel family with its includes and types, compiled once."""

import re
from functools import cache
from importlib.resources import files

KERNELS = "sparkdl.engine.backends.cuda.kernels"
INCLUDE = re.compile(r'^#include "([\w.]+)"$', re.MULTILINE)

C_TYPES = {
    "bfloat16": "bf16",
    "bool": "bool",
    "float16": "f16",
    "float32": "float",
    "float64": "double",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}
WIDE = {
    "bfloat16": "float",
    "float16": "float",
}  # the type of computation if it is another


@cache
def read(name):
    """Returns a file of source/ with its includes inlined."""
    text = files(KERNELS).joinpath("source", name).read_text()
    return INCLUDE.sub(lambda match: read(match[1]), text)


@cache
def of_family(name, types=()):
    """Returns the common file, the definitions of `types`, and the family's file.

    Parameters
    ----------
    types : ((name in the file, numpy type, text or number), ...)
    """
    defined = [
        f"typedef {C_TYPES[value]} {name};" if value in C_TYPES else f"#define {name} {value}"
        for name, value in types
    ]
    return "\n".join([read("common.cuh"), *defined, read(name)])


def complete_source(text):
    """Returns a generated kernel, after the common file."""
    return read("common.cuh") + text


def wide(kind):
    """Returns the C type that numbers of a numpy type are computed in."""
    return WIDE.get(kind) or C_TYPES[kind]
