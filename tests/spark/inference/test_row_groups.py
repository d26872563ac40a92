"""Rows as arrays: one group if all shapes agree, else groups by shape and errors by row."""

import math
from decimal import Decimal

import numpy as np
import pyarrow
import pytest
from pandas import DataFrame

from sparkdl.errors import ConfigError
from sparkdl.interop.predictors import ArraySpec
from sparkdl.spark.inference.row_groups import RowGroup, compute_groups, read_groups


def table(values, kind=None):
    return pyarrow.RecordBatch.from_arrays([pyarrow.array(values, kind)], names=["c"])


def read(values, dtype="float32", shape=(2,), kind=None, prepare=None):
    spec = ArraySpec(dtype, shape)
    return read_groups(table(values, kind), {"x": ("c", spec)}, prepare)


def lists(groups):
    return [(group.places.tolist(), group.arrays["x"].tolist()) for group in groups]


EDGES = [([0, 1], [2**53 + 1, 2**63 - 1])]
GOOD = [
    ("alike", [[1, 2], [3, 4]], {}, [([0, 1], [[1, 2], [3, 4]])]),
    ("numbers", [1, 2], {"shape": ()}, [([0, 1], [1, 2])]),
    ("a number as a row", [1, 2], {"shape": (1,)}, [([0, 1], [[1], [2]])]),
    ("flat", [[1, 2, 3, 4]], {"shape": (2, 2)}, [([0], [[[1, 2], [3, 4]]])]),
    ("flat, open", [[1, 2, 3, 4]], {"shape": (None, 2)}, [([0], [[[1, 2], [3, 4]]])]),
    ("lengths", [[1], [2, 3], [4]], {"shape": (None,)}, [([0, 2], [[1], [4]]), ([1], [[2, 3]])]),
    ("whole floats", [[1.0, 2.0]], {"dtype": "int64"}, [([0], [[1, 2]])]),
    ("bytes", [b"ab", b"cd"], {"dtype": "uint8"}, [([0, 1], [[97, 98], [99, 100]])]),
    ("floats at an edge", [-(2.0**63)], {"dtype": "int64", "shape": ()}, [([0], [-(2**63)])]),
    ("large integers", [2**53 + 1, 2**63 - 1], {"dtype": "int64", "shape": ()}, EDGES),
    ("decimals", [Decimal(2**53 + 1), Decimal(2**63 - 1)], {"dtype": "int64", "shape": ()}, EDGES),
    ("truth", [[True, False]], {"dtype": "uint64"}, [([0], [[1, 0]])]),
    ("none", [], {"kind": pyarrow.list_(pyarrow.int32()), "shape": (None,)}, [([], [])]),
]


@pytest.mark.parametrize(
    ("values", "options", "expected"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD]
)
def test_rows_are_grouped_by_shape(values, options, expected):
    groups, errors = read(values, **options)
    assert lists(groups) == expected and errors == {}


BAD = [
    ("null", [[1, 2], None], {}, "must have a value, got null"),
    ("null inside", [[1, 2], [1, None]], {}, "must have a value, got null"),
    ("width", [[1, 2], [1, 2, 3]], {}, r"must have the shape \(2,\), got \(3,\)"),
    ("fractions", [[1.0, 2.0], [1.5, 2.0]], {"dtype": "int64"}, "int64 numbers, got 1.5"),
    ("range", [[1, 2], [1, 300]], {"dtype": "uint8"}, "uint8 numbers, got 300"),
    (
        "2^63",
        [[1.0, 2.0], [1.0, 2.0**63]],
        {"dtype": "int64"},
        r"int64 numbers, got 9.223372036854",
    ),
    ("not finite", [[1.0, 2.0], [1.0, math.nan]], {"dtype": "int64"}, "int64 numbers, got nan"),
]


@pytest.mark.parametrize(
    ("values", "options", "says"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_a_row_that_does_not_fit_leaves_the_others(values, options, says):
    groups, errors = read(values, **options)
    assert lists(groups) == [([0], [[1, 2]])]
    assert [*errors] == [1]
    with pytest.raises(type(errors[1]), match=says):
        raise errors[1]


def test_prepare_makes_inputs_of_other_values():
    def prepare(columns):
        return {"x": [[float(part) for part in text.split()] for text in columns["c"]]}

    groups, errors = read(["1 2", "3 x", "5 6"], prepare=prepare)
    assert lists(groups) == [([0, 2], [[1, 2], [5, 6]])]
    assert "could not convert" in str(errors[1])


def test_prepare_must_know_the_names_of_the_inputs():
    with pytest.raises(ConfigError, match=r"prepare must return arrays for 'x', got \['y'\]"):
        read(["a"], prepare=lambda columns: {"y": [1]})


SPECS = {name: ("", ArraySpec("float32", ())) for name in "ab"}
MISCOUNTS = {
    "more": (lambda c: {"a": [1.0] * 4, "b": [2.0] * 4}, "of 2, got 4 of 'a'"),
    "fewer": (lambda c: {"a": [1.0], "b": [2.0]}, "of 2, got 1 of 'a'"),
    "one of two": (lambda c: {"a": [1.0, 2.0], "b": np.ones((1,))}, "of 2, got 1 of 'b'"),
    "a number": (lambda c: {"a": [1.0, 2.0], "b": 3.0}, "of 2, got 'b' = 3.0"),
    "two of a row": (lambda c: dict.fromkeys("ab", [*map(float, c["c"])] * 2), "of 1, got 2 of"),
    "nothing": (lambda c: None, "{input: array}, got None"),
}


@pytest.mark.parametrize("case", MISCOUNTS)
def test_prepare_must_return_a_row_for_each(case):
    """This includes calls for single rows, because the second row is not a number."""
    prepare, says = MISCOUNTS[case]
    with pytest.raises(ConfigError, match=f"predict_column.prepare must return .*{says}"):
        read_groups(table(["1", "x"]), SPECS, prepare)


def test_prepare_may_return_a_frame_of_pandas():
    groups, errors = read([1, 2], shape=(), prepare=lambda c: DataFrame({"x": c["c"]}))
    assert lists(groups) == [([0, 1], [1, 2])] and errors == {}


def test_a_row_that_a_model_fails_on_leaves_the_others():
    def run(arrays):
        if 3 in arrays["x"]:
            raise IndexError("no row 3")
        return {"y": arrays["x"] + 1}

    group = RowGroup(np.array([4, 6, 9]), {"x": np.array([1, 3, 5])})
    [found], errors = compute_groups(run, group)
    assert found.places.tolist() == [4, 9] and found.arrays["y"].tolist() == [2, 6]
    assert [*errors] == [6] and isinstance(errors[6], IndexError)
