"""Batches written as Parquet: types of labels and features, read back by pyarrow."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from sparkdl.data import Batch, Parquet, files, write_lmdb, write_parquet, write_sequence_datums
from sparkdl.errors import DataError

X = np.arange(12, dtype=np.float32).reshape(4, 3)
BYTES = X.astype(np.uint8)
Y = np.arange(4)


def column(folder, name):
    return pq.read_table(folder).column(name).to_pylist()


LABELS = {
    "big-endian": Y.astype(">i4"),
    "big-endian floats": Y.astype(">f8") / 4,
    "truth values": Y > 1,
    "vectors": np.arange(8.0).reshape(4, 2),
    "big-endian vectors": np.arange(8).reshape(4, 2).astype(">i8"),
    "vectors in columns": np.arange(8).reshape(4, 2, 1),
    "not in one piece": np.arange(24.0).reshape(2, 3, 4).T,
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_every_type(tmp_path, name):
    y = LABELS[name]
    assert write_parquet(tmp_path / "out", [Batch.of(X.astype(">f4"), y)]) == 4
    assert column(tmp_path / "out", "label") == y.tolist()
    assert column(tmp_path / "out", "features") == X.tolist()


FEATURES = {"i8": 2**53, "i4": 2**31 - 1, "i2": -9, ">i8": 2**53, "f8": 1 / 3, "u8": 2**63, "?": 1}


@pytest.mark.parametrize("kind", FEATURES)
def test_features_keep_their_type_and_values(tmp_path, kind):
    """As float32, ids from 2**24 on would change."""
    x = np.full((4, 3), FEATURES[kind]).astype(kind)
    write_parquet(tmp_path / "out", [Batch.of(x, Y)])
    [found] = [b for s in Parquet(str(tmp_path)).splits() for b in Parquet(str(tmp_path)).read(s)]
    assert found.features.dtype == x.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found.features, x)


def test_half_floats_are_written_as_float32_which_spark_reads(tmp_path):
    write_parquet(tmp_path / "out", [Batch.of(X.astype(np.float16), Y)])
    assert pq.read_schema(tmp_path / "out/part-00000.parquet").field(0).type.value_type == "float"
    assert column(tmp_path / "out", "features") == X.tolist()


@pytest.mark.parametrize("kinds", [("i4", "i8"), ("i8", "i4"), ("f8", "i4"), ("i4", "f8")], ids=str)
def test_the_first_batch_says_the_types(tmp_path, kinds):
    write_parquet(tmp_path / "out", [Batch.of(BYTES, Y.astype(kind)) for kind in kinds])
    assert column(tmp_path / "out", "label") == [*Y.tolist(), *Y.tolist()]
    stored = pq.read_schema(tmp_path / "out/part-00000.parquet").field("label").type
    assert stored.to_pandas_dtype() == np.dtype(kinds[0])


UNLIKE = {
    "bytes, then floats": [Batch.of(BYTES, Y), Batch.of(X, Y)],
    "floats, then bytes": [Batch.of(X, Y), Batch.of(BYTES, Y)],
    "wider": [Batch.of(X, Y), Batch.of(X.reshape(2, 6), Y[:2])],
    "fractions": [Batch.of(X, Y), Batch.of(X, Y + 0.5)],
    "large": [Batch.of(X, Y.astype(np.int32)), Batch.of(X, Y + 2**31)],
    "without labels": [Batch.of(X, Y), Batch.of(X)],
}


@pytest.mark.parametrize("name", UNLIKE)
def test_records_that_do_not_fit_the_first_ones_are_named(tmp_path, name):
    message = f"^{tmp_path}/out, record 4: must have the columns and types of the first records: "
    with pytest.raises(DataError, match=message):
        write_parquet(tmp_path / "out", UNLIKE[name])
    assert files.list(tmp_path) == []


@pytest.mark.parametrize("write", [write_lmdb, write_parquet, write_sequence_datums])
def test_columns_that_would_be_left_out_are_refused(tmp_path, write):
    weighted = Batch.of(X, Y).replace(weights=np.ones(4))
    unnamed = Batch(columns={"a": X, "b": X}, ids=weighted.ids)
    for batch in (weighted, unnamed):
        with pytest.raises(DataError, match="^columns to write must be features, and labels if"):
            write(tmp_path / "out", [batch])
    assert files.list(tmp_path) == []
