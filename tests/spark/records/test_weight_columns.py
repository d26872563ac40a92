"""Which columns of weights records have."""

import pytest

from sparkdl.errors import DataError
from sparkdl.spark.records.weight_columns import (
    has_name,
    known_weights,
    names_of,
    without_columns,
)

KNOWN = [
    (None, None, []),
    ("w", "w", ["w"]),
    ("gone", None, []),
    ({"a": "w", "b": "gone"}, {"a": "w"}, ["w"]),
    ({"a": "gone"}, None, []),
]


@pytest.mark.parametrize("given, known, names", KNOWN)
def test_weights_that_records_have(given, known, names):
    found = known_weights(given, {"w", "v"}.__contains__)
    assert found == known
    assert [*names_of(found)] == names


@pytest.mark.parametrize("name, exact, expected", [("w", True, True), ("W", True, False)])
def test_cases_of_names(name, exact, expected):
    assert has_name(["w"], name, exact) == expected
    assert has_name(["w"], name, False)
    assert not has_name(["w"], "other", False)


def test_a_later_record_with_a_column_that_the_first_lacks_is_named():
    rows = [{"x": 1}, {"x": 2, "w": 0.5}]
    has = lambda names, name: name in names  # noqa: E731
    assert [*without_columns(rows[:1], {"w"}, has, 3)] == rows[:1]
    with pytest.raises(DataError, match="partition 3, record 2: must have no column 'w'"):
        list(without_columns(rows, {"w"}, has, 3))
