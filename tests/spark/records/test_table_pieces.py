"""Arrow tables in pieces: bounded bytes, and the same records as in one piece."""

import numpy as np
import pyarrow as pa
import pytest

from sparkdl.data.batches.batch import Batch, position
from sparkdl.data.batches.dealing import WINDOW_BYTES
from sparkdl.data.records.label import Label
from sparkdl.data.records.schema import Schema
from sparkdl.errors import DataError
from sparkdl.spark.records import table_pieces
from sparkdl.spark.records.table_pieces import check_pieces, cut_tables

WIDE = 2**18  # width of HashingTF's vectors
COLUMNS = {"features": "x"}


def sparse(n, width=WIDE):
    """A column of n sparse vectors: vector i has i + 1 at place i and 1.5 at the end."""
    places = [[i, width - 1] for i in range(n)]
    values = [[i + 1.0, 1.5] for i in range(n)]
    kinds = pa.array(np.zeros(n, np.int8)), pa.array(np.full(n, width, np.int32))
    lists = pa.array(places, pa.list_(pa.int32())), pa.array(values, pa.list_(pa.float64()))
    return pa.StructArray.from_arrays([*kinds, *lists], names=["type", "size", "indices", "values"])


def table_of(**columns):
    return pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])


def test_sparse_vectors_are_dense_a_few_at_a_time():
    read, found = 0, []
    for piece, batch in check_pieces(
        Schema(features=(WIDE,)), COLUMNS, 1, [table_of(x=sparse(150))]
    ):
        assert piece.num_rows == len(batch) and batch.features.nbytes <= WINDOW_BYTES
        assert batch.features.dtype == np.float32
        own = np.arange(read, read + len(batch))
        np.testing.assert_array_equal(batch.features[np.arange(len(own)), own], own + 1)
        np.testing.assert_array_equal(batch.features[:, -1], np.full(len(own), 1.5))
        np.testing.assert_array_equal(batch.features.sum(axis=1, dtype=float), own + 2.5)
        found += map(position, batch.ids)
        read += len(batch)
    assert found == list(range(150))


# {case: (schema, column of a table, bytes of one record as arrays)}
WIDTHS = {
    "sparse vectors": (Schema(features=(WIDE,)), sparse(9), 4 * WIDE),
    "vectors of a width that is free": (Schema(features=(None,)), sparse(9), 4 * WIDE),
    "lists": (Schema(features=(3,)), pa.array([[1.0, 2.0, 3.0]] * 9), 28),
    "sequences": (
        Schema(features=(1000, 2), masks={"features": "mask"}),
        pa.array([[[1.0, 2.0]]] * 9),
        12_000,
    ),
    "bytes": (Schema(features=(None, 2, 2)), pa.array([b"1234"] * 9), 16),
}


@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize("records, beside", [(4, 0), (4, 5000), (1, 2**40)])
def test_as_many_rows_as_fit(name, records, beside, monkeypatch):
    schema, column, nbytes = WIDTHS[name]
    monkeypatch.setattr(table_pieces, "WINDOW_BYTES", records * (nbytes + beside % 2**40))
    pieces = [*cut_tables(schema, COLUMNS, [table_of(x=column)] * 2, beside)]
    assert [piece.num_rows for piece in pieces] == ([4, 4, 1] if records == 4 else [1] * 9) * 2
    assert [piece.column(0) for piece in pieces[: len(pieces) // 2]] == [
        column[start : start + records] for start in range(0, 9, records)
    ]


def test_rows_of_ordinary_width_stay_together():
    column = pa.FixedSizeListArray.from_arrays(np.zeros(10_000 * 784, np.float32), 784)
    table = table_of(x=column)
    assert [piece.num_rows for piece in cut_tables(Schema(features=(784,)), COLUMNS, [table])] == [
        10_000
    ]


X = np.arange(24.0).reshape(8, 3)
KINDS = {
    "lists": pa.array(X.tolist()),
    "fixed lists": pa.FixedSizeListArray.from_arrays(X.ravel(), 3),
    "nested lists": pa.array(X.reshape(8, 3, 1).tolist()),
    "bytes": pa.array([row.astype(np.uint8).tobytes() for row in X]),
    "vectors": pa.StructArray.from_arrays(
        [
            pa.array([1, 0] * 4, pa.int8()),
            pa.array([None, 3] * 4, pa.int32()),
            pa.array([None, [0, 1, 2]] * 4, pa.list_(pa.int32())),
            pa.array(X.tolist()),
        ],
        names=["type", "size", "indices", "values"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_hold_the_records_of_the_table(kind, monkeypatch):
    monkeypatch.setattr(table_pieces, "WINDOW_BYTES", 100)
    schema = Schema(features=(3,), labels="values")
    table = table_of(x=KINDS[kind], y=pa.array(np.arange(8.0)))
    columns = {"features": "x", "labels": "y"}
    batches = [batch for _, batch in check_pieces(schema, columns, 2, [table.slice(0, 5), table])]
    assert len(batches) > 2
    whole = Batch.concat(batches)
    np.testing.assert_array_equal(whole.features, np.concatenate([X[:5], X]))
    np.testing.assert_array_equal(whole.labels[:, 0], [*range(5), *range(8)])
    assert [position(one) for one in whole.ids] == list(range(13))


def test_a_record_is_named_by_its_place_in_the_partition(monkeypatch):
    monkeypatch.setattr(table_pieces, "WINDOW_BYTES", 1)
    x = pa.array([[1.0, 2.0]] * 4 + [[1.0, float("nan")]])
    with pytest.raises(DataError, match="^partition 3, record 8: features must be finite, got nan"):
        list(
            check_pieces(
                Schema(features=(2,)), COLUMNS, 3, [table_of(x=x[:4])] + [table_of(x=x)] * 2
            )
        )


def test_vectors_of_one_hot_labels_are_looked_at_as_they_are():
    """Rounding to float32 would turn 1 + 1e-12 into 1."""
    vector = sparse(1, 4).to_pylist()[0] | {"indices": [1], "values": [1 + 1e-12]}
    y = pa.array([vector], sparse(1).type)
    label = Label(kind="class", size=4)
    schema = Schema(features=(4,), labels={"labels": label})
    with pytest.raises(DataError, match="label must be one-hot"):
        table = table_of(x=sparse(1, 4), y=y)
        list(check_pieces(schema, {"features": "x", "labels": "y"}, 0, [table]))


def test_vectors_that_are_not_finite_in_float32_are_refused():
    vector = sparse(1, 4).to_pylist()[0] | {"values": [1e300, 1.0]}
    table = table_of(x=pa.array([vector], sparse(1).type))
    with pytest.raises(DataError, match="record 0: features must be finite, got inf at 0"):
        list(check_pieces(Schema(features=(4,)), COLUMNS, 0, [table]))


def test_a_null_in_any_column_of_labels_names_ignore_label():
    labels = {"price": Label(kind="values", shape=(1,)), "kind": Label(kind="class", size=3)}
    schema = Schema(features=(1,), labels=labels)
    columns = {"features": "x", "price": "price", "kind": "type"}
    numbers, holes = pa.array([1.0, 2.0]), pa.array([1.0, None])
    for name, ends in {"type": "as ignore_label$", "x": "as Imputer does$"}.items():
        whole = {"x": numbers, "price": numbers, "type": numbers} | {name: holes}
        with pytest.raises(DataError, match=f"record 1: column '{name}' must have a .*{ends}"):
            list(check_pieces(schema, columns, 0, [table_of(**whole)]))
