"""Outputs of a predictor for a partition: chunk sizes, kept columns, and checks."""

import re

import numpy as np
import pyarrow
import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.predictors import ArraySpec, Predictor
from sparkdl.spark.inference import model_rows
from sparkdl.spark.inference.model_rows import ModelColumns, loaded_model
from sparkdl.spark.jobs.shared_value import LocalValue

SEEN = []


class Mean(Predictor):
    inputs = {"x": ArraySpec("float64", (None,))}
    outputs = {"y": ArraySpec("float64")}

    def __init__(self, shift=0):
        self.shift = shift

    def load(self, outputs):
        SEEN.append("load")

        def run(arrays):
            SEEN.append(len(arrays["x"]))
            return {"y": arrays["x"].mean(axis=1) + self.shift}

        return run


class Other(Mean):
    """Declares one output and returns what `function` gives."""

    def __init__(self, spec, function):
        self.outputs, self.function = {"y": spec}, function

    def load(self, outputs):
        return lambda arrays: self.function(arrays["x"])


@pytest.fixture(autouse=True)
def fresh():
    SEEN.clear()
    model_rows._loaded.clear()


def columns(predictor=None, **options):
    given = {"key": "k", "inputs": {"x": "c"}, "outputs": {"y": "m"}, "kept": [0]}
    given |= {"batch_size": 100, "batch_bytes": 2**20, "error": None, "fails": True}
    return ModelColumns(shared=LocalValue((predictor or Mean(), None)), **given | options)


def tables(*sizes, width=4):
    for n in sizes:
        column = pyarrow.array(
            np.full((n, width), n, float).tolist(), pyarrow.list_(pyarrow.float64())
        )
        yield pyarrow.RecordBatch.from_arrays([column], names=["c"])


@pytest.mark.parametrize(
    ("options", "width", "pieces"),
    [
        ({}, 4, [8, 100, 92]),
        ({"batch_size": 3}, 4, [3] * 66 + [2]),
        ({"batch_bytes": 16 * 8 * 50}, 16, [8, 50, 50, 50, 42]),
        ({"batch_bytes": 1}, 4, [1] * 200),
    ],
    ids=["rows", "few rows", "bytes", "one row"],
)
def test_pieces_are_bounded_by_rows_and_bytes(options, width, pieces):
    found = [*columns(**options).extend(tables(200, width=width))]
    assert ["load", *pieces] == SEEN
    assert sum(batch.num_rows for batch in found) == 200
    assert found[0].schema.names == ["c", "m"]


@pytest.mark.parametrize("width, pieces", [(1000, [1] * 20), (50, [5, 5, 5, 5]), (None, [8, 12])])
def test_pieces_are_bounded_by_the_bytes_of_outputs_of_known_shape(width, pieces):
    def widen(x):
        SEEN.append(len(x))
        return {"y": np.zeros((len(x), width or 1000), np.float32)}

    wide = Other(ArraySpec("float32", (width,)), widen)
    tables_ = [*columns(wide, batch_bytes=1000).extend(tables(20))]
    assert pieces == SEEN and sum(table.num_rows for table in tables_) == 20


def test_what_is_written_comes_in_large_batches(monkeypatch):
    monkeypatch.setattr(model_rows, "WRITTEN", 4000)
    sizes = [batch.nbytes for batch in columns(batch_size=10).extend(tables(0, 300, 0, 50))]
    assert len(sizes) > 2 and all(4000 <= size < 5000 for size in sizes[:-1])


def test_a_process_keeps_the_last_models():
    for key in ["a", "b", "a", "c", "a", "b"]:
        loaded_model(key, Mean(), ["y"])
    assert SEEN == ["load"] * 4  # a, b, c, and b once more


def test_two_models_side_by_side_keep_their_numbers():
    parts = [columns(Mean(shift), key=str(shift)).extend(tables(3, 3)) for shift in (1, 5)]
    for one, other in zip(*parts, strict=True):
        assert [*one["m"].to_pylist()] == [4.0] * 6 and other["m"].to_pylist() == [8.0] * 6


WHOLE, SINGLE, TRUTH = map(ArraySpec, ("int32", "float32", "bool"))
PAIRS = ArraySpec("int8", (2,))
UNDECLARED = {
    "shape": (SINGLE, lambda x: {"y": x}, "array of float32 (3,), got float64 (3, 4)"),
    "axis": (PAIRS, lambda x: {"y": x.astype("i1")}, "array of int8 (3, 2), got int8 (3, 4)"),
    "rows": (SINGLE, lambda x: {"y": x[:1, 0]}, "float32 (3,), got float64 (1,)"),
    "fractions": (WHOLE, lambda x: {"y": x[:, 0] * 1.5}, "int32 (3,), got float64 (3,)"),
    "range": (
        WHOLE,
        lambda x: {"y": np.full(3, 2**31)},
        "int32 (3,), got int64 (3,) from 2147483648",
    ),
    "digits": (SINGLE, lambda x: {"y": np.full(3, 2**24 + 1)}, "float32 (3,), got int64 (3,)"),
    "a list": (SINGLE, lambda x: {"y": [1.0] * 3}, "float32 (3,), got [1.0, 1.0, 1.0]"),
    "no dict": (SINGLE, lambda x: x[:, 0], "that returns {output: array}, got array([3., 3., 3.])"),
    "no truth values": (TRUTH, lambda x: {"y": np.arange(3)}, "bool (3,), got int64 (3,) from 0"),
    "none": (SINGLE, lambda x: {"z": x}, "float32 (3,), got None"),
}


@pytest.mark.parametrize("case", UNDECLARED)
def test_outputs_that_were_not_declared_are_refused(case):
    spec, function, says = UNDECLARED[case]
    with pytest.raises(ConfigError, match=rf"Other\.load must give .*{re.escape(says)}"):
        [*columns(Other(spec, function)).extend(tables(3))]


DECLARED = {
    "rounded": (SINGLE, lambda x: x[:, 0] + 0.1, np.float32(3.1)),
    "whole": (SINGLE, lambda x: np.full(3, -(2**24)), -(2.0**24)),
    "narrow": (WHOLE, lambda x: np.full(3, -(2**31)), -(2**31)),
    "truth values": (WHOLE, lambda x: x[:, 0] > 0, 1),
    "zeros": (TRUTH, lambda x: np.zeros(3, "i8"), False),
    "no numbers": (ArraySpec("int32", (None,)), lambda x: np.zeros((3, 0), "i8"), []),
}


@pytest.mark.parametrize("case", DECLARED)
def test_outputs_may_have_other_types_that_the_declared_one_holds(case):
    spec, function, expected = DECLARED[case]
    [found] = columns(Other(spec, lambda x: {"y": function(x)})).extend(tables(3))
    assert found["m"].to_pylist() == [expected] * 3


def test_outputs_that_were_not_asked_for_are_left_out():
    """Also when each row is computed alone."""

    def run(x):
        if len(x) > 1:
            raise ValueError("one at a time")
        return {"y": x[:, 0], "z": None}

    [found] = columns(Other(SINGLE, run)).extend(tables(3))
    assert found["m"].to_pylist() == [3.0] * 3
