"""Numbers in bytes as arrays."""

import numpy as np

TYPES = {  # {name of torch: type of what is stored}; bfloat16 is the upper half of a float32
    "bool": "?",
    "uint8": "u1",
    "int8": "i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "float16": "<f2",
    "bfloat16": "<u2",
    "float32": "<f4",
    "float64": "<f8",
}


def array_of(kind, content):
    """Returns the flat array of bytes; that of bfloat16 as float32."""
    stored = np.frombuffer(content, TYPES[kind])
    if kind == "bfloat16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored
