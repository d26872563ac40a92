"""Values that people pass by mistake, which no option of a plain type may accept silently."""

from datetime import date

import numpy as np


def bomb(levels=40):
    """Returns a list of 2^levels items when printed, but small in memory."""
    value = ["x"]
    for _ in range(levels):
        value = [value, value]
    return value


def ring():
    """Returns a list that contains itself."""
    value = []
    value.append(value)
    return value


NONSENSE = {
    "None": None,
    "True": True,
    "negative": -1,
    "negative float": -0.5,
    "zero": 0,
    "NaN": float("nan"),
    "inf": float("inf"),
    "minus inf": float("-inf"),
    "1e30": 1e30,
    "1e300": 1e300,
    "10**30": 10**30,
    "10**400": 10**400,
    "10**9000": 10**9000,
    "-10**400": -(10**400),
    "complex": 1j,
    "empty text": "",
    "blank": "  ",
    "text": "nonsense",
    "number as text": "3",
    "long text": "x" * 100_000,
    "bytes": b"relu",
    "empty list": [],
    "list": [1, 2, 3],
    "mixed list": [None, "a", -1],
    "nested list": [[1], [[2]]],
    "list of inf": [float("inf")],
    "list of 10**30": [10**30, 10**30],
    "empty dict": {},
    "dict": {"a": 1},
    "dict of unknown type": {"type": "nonsense"},
    "dict of a type that is a list": {"type": ["Dense"]},
    "set": {1, 2},
    "date": date(2024, 1, 31),
    "array": np.arange(3),
    "array of one": np.array([1.0]),
    "matrix": np.eye(2),
    "empty array": np.zeros(0),
    "NaN of numpy": np.float32("nan"),
    "bool of numpy": np.bool_(True),
    "object": object(),
    "class": int,
    "function": len,
    "bomb": bomb(),
    "ring": ring(),
}
