"""A partition with the outputs of a predictor: sizes of pieces, what is kept, what is checked."""

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


class Wrong(Mean):
    def load(self, outputs):
        return lambda arrays: {"y": arrays["x"]}


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
        ({"batch_bytes": 1}, 4, [8] + [1] * 192),
    ],
    ids=["rows", "few rows", "bytes", "one row"],
)
def test_pieces_are_bounded_by_rows_and_bytes(options, width, pieces):
    found = [*columns(**options).extend(tables(200, width=width))]
    assert ["load", *pieces] == SEEN
    assert sum(batch.num_rows for batch in found) == 200
    assert found[0].schema.names == ["c", "m"]


def test_what_is_written_comes_in_large_batches(monkeypatch):
    monkeypatch.setattr(model_rows, "WRITTEN", 4000)
    sizes = [batch.nbytes for batch in columns(batch_size=10).extend(tables(0, 300, 0, 50))]
    assert len(sizes) > 2 and all(4000 <= size < 5000 for size in sizes[:-1])


def test_a_process_keeps_the_last_models():
    for key in ["a", "b", "a", "c", "a", "b"]:
        loaded_model(key, Mean(), ["y"])
    assert SEEN == ["load"] * 4  # a, b, c, and b again


def test_two_models_side_by_side_keep_their_numbers():
    parts = [columns(Mean(shift), key=str(shift)).extend(tables(3, 3)) for shift in (1, 5)]
    for one, other in zip(*parts, strict=True):
        assert [*one["m"].to_pylist()] == [4.0] * 6 and other["m"].to_pylist() == [8.0] * 6


def test_outputs_that_were_not_declared_are_refused():
    with pytest.raises(ConfigError, match=r"Wrong\.outputs must tell .*got \(3, 4\)"):
        [*columns(Wrong()).extend(tables(3))]
