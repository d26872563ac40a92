"""Rows in memory: change tracking, arrays streamed in chunks, and rows of merged states."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.tables import row_store
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.row_store import RowStore

NAMES = ("words", "users")
FAR = 2**62


def store(*ids, table=0, start=0):
    rows = RowStore(NAMES, 2, ("rows", "sum"), ("last",))
    add(rows, *ids, table=table, start=start)
    return rows


def add(rows, *ids, table=0, start=0):
    numbers = np.arange(start, start + 2 * len(ids), dtype=np.float32).reshape(-1, 2)
    values = {"rows": numbers, "sum": -numbers, "last": np.arange(len(ids)) + start}
    return rows.add(RowKeys.of(ids, table), values)


def streamed(rows, places=None):
    """Returns {name: vector} of a stream, having checked each announced type and length."""
    arrays = {}
    for name, kind, numbers, chunks in rows.stream(places):
        arrays[name] = np.concatenate([np.zeros((0,), kind), *(c.reshape(-1) for c in chunks)])
        assert arrays[name].dtype == kind and arrays[name].shape == (numbers,)
    return arrays


@pytest.mark.parametrize("size", [1, 2, 1 << 18], ids="chunks of {} rows".format)
def test_a_stream_has_the_state_with_ids_in_order(size, monkeypatch):
    monkeypatch.setattr(row_store, "CHUNK", size)
    rows = store(9, FAR, 4)
    add(rows, 7, 3, table=1, start=100)
    arrays = streamed(rows)
    assert [*arrays] == [*rows.state()]
    assert arrays["words/ids"].tolist() == [4, 9, FAR] and arrays["users/ids"].tolist() == [3, 7]
    assert arrays["words/rows"].tolist() == [4, 5, 0, 1, 2, 3]
    assert arrays["users/sum"].tolist() == [-102, -103, -100, -101]
    assert arrays["words/last"].tolist() == [2, 0, 1] and arrays["words/last"].dtype == np.int32


def test_a_stream_without_rows_has_empty_arrays():
    arrays = streamed(RowStore(NAMES, 2, ("rows",)))
    assert {name: len(of) for name, of in arrays.items()} == {
        f"{table}/{name}": 0 for table in NAMES for name in ("ids", "rows")
    }


def test_more_rows_than_the_index_can_number_are_refused(monkeypatch):
    many = store(1, 2, 3).state()
    monkeypatch.setattr(row_store, "LARGEST", 2)
    rows = store(9, 4)
    with pytest.raises(ConfigError, match="words, users must have at most 2 rows .* got 3; share"):
        add(rows, 7)
    assert len(rows) == 2 and streamed(rows)["words/ids"].tolist() == [4, 9]
    with pytest.raises(ConfigError, match="got 3"):
        RowStore(NAMES, 2, ("rows", "sum"), ("last",)).load(many)


def test_rows_that_were_added_or_replaced_have_changed():
    rows = store(9, FAR, 4)
    rows.track_changes()
    assert rows.changed().tolist() == []
    rows.put("sum", np.array([1]), 5.0)
    add(rows, 1, table=1)
    assert rows.changed().tolist() == [1, 3]
    assert streamed(rows, rows.changed())["words/ids"].tolist() == [FAR]
    assert streamed(rows, rows.changed())["users/ids"].tolist() == [1]
    for new in range(2000):  # makes arrays grow
        add(rows, 10_000 + new)
    assert rows.changed().tolist() == [1, 3, *range(4, 2004)]
    rows.track_changes()
    assert rows.changed().tolist() == []


def test_of_rows_that_were_forgotten_all_must_be_written():
    rows = store(9, FAR, 4)
    rows.track_changes()
    rows.keep(np.array([0, 2]))
    assert rows.changed() is None
    rows.track_changes()
    assert rows.changed().tolist() == []


@pytest.mark.parametrize("size", [1, 1 << 18], ids="chunks of {} rows".format)
def test_rows_of_later_states_replace_earlier_ones(size, monkeypatch):
    monkeypatch.setattr(row_store, "CHUNK", size)
    rows = store(1)
    rows.load_all([store(9, FAR, 4).state(), {}, store(4, 8, start=50).state()])
    arrays = streamed(rows)
    assert arrays["words/ids"].tolist() == [4, 8, 9, FAR]
    assert arrays["words/rows"].tolist() == [50, 51, 52, 53, 0, 1, 2, 3]
    assert arrays["words/last"].tolist() == [50, 51, 0, 1]
    rows.load_all([])
    assert len(rows) == 0


def test_a_state_that_does_not_fit_is_refused_wherever_it_is():
    broken = store(4).state() | {"words/rows": np.zeros(3, np.float32)}
    for states in ([broken], [store(9).state(), broken]):
        with pytest.raises(ShapeError, match=r"needs rows of float32 \(2,\), got float32 \(3,\)"):
            store().load_all(states)
