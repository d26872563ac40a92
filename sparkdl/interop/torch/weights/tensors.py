"""Arrays from bytes."""

import numpy as np

TYPES = {  # {torch type: stored type}; bfloat16 is the upper half of a float32
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
    """Returns bytes as a flat array; bfloat16 becomes float32."""
    stored = np.frombuffer(content, TYPES[kind])
    if kind == "bfloat16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored
