"""A table inside one test: every row is checked, and every failure is reported with its row."""

import pytest

from tests.support.tables import first_of_each, for_all, in_parts


def test_every_row_is_asked_and_each_that_fails_is_told():
    asked = []

    def check(row):
        asked.append(row)
        assert row % 2

    with pytest.raises(ExceptionGroup, match="2 of 4 rows") as caught:
        for_all(range(4), check)
    assert asked == [0, 1, 2, 3]
    assert [failure.__notes__ for failure in caught.value.exceptions] == [
        ["of the row 0"],
        ["of the row 2"],
    ]


def test_rows_that_hold_raise_nothing_and_no_row_is_refused():
    for_all([1, 3], lambda row: row)
    with pytest.raises(AssertionError):
        for_all([], lambda row: row)


def test_an_error_that_was_awaited_and_did_not_come_is_told_too():
    def check(row):
        with pytest.raises(ValueError):
            int(row)

    with pytest.raises(BaseExceptionGroup, match="1 of 2 rows") as caught:
        for_all(["1", "a"], check)
    assert caught.value.exceptions[0].__notes__ == ["of the row '1'"]


def test_the_parts_of_a_table_are_all_of_it_and_the_first_is_quick():
    few, others = in_parts(range(20), quick=6)
    assert few.values[0] == [0, 4, 8, 12, 16] and not few.marks
    assert sorted(few.values[0] + others.values[0]) == list(range(20))
    assert [mark.name for mark in others.marks] == ["slow"]


def test_rows_are_quick_where_they_are_the_first_of_their_kind():
    found = first_of_each(["Gru", "Lstm mask", "Gru keep", "Lstm"])
    assert [row.values for row in found] == [("Gru",), ("Lstm mask",), ("Gru keep",), ("Lstm",)]
    assert [bool(row.marks) for row in found] == [False, False, True, True]
    pairs = first_of_each([("a", 1), ("b", 1), ("c", 2)], lambda row: row[1])
    assert [row.values for row in pairs] == [("a", 1), ("b", 1), ("c", 2)]
    assert [bool(row.marks) for row in pairs] == [False, True, False]
