"""Runs many small cases in one test, since a test costs more than most of these cases."""

import pytest

QUICK = 6  # rows of a table that a quick run asks, too
FAILURES = Exception, pytest.fail.Exception  # what pytest.raises raises is none


def slow(*values):
    """Returns a row of a table as pytest's parameter that only the whole suite asks."""
    return pytest.param(*values, marks=pytest.mark.slow)


def for_all(rows, check):
    """Runs `check` on each row and reports all failures, each with its row and traceback."""
    rows, failures = list(rows), []
    assert rows
    for row in rows:
        try:
            check(row)
        except FAILURES as failure:
            failure.add_note(f"of the row {row!r}")
            failures.append(failure)
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} rows", failures)


def in_parts(rows, quick=QUICK):
    """Returns pytest parameters for a long table: a few evenly spaced rows, then the others."""
    rows = list(rows)
    few = rows[:: -(-len(rows) // quick)]
    others = [row for row in rows if row not in few]
    return [pytest.param(few, id="few"), pytest.param(others, id="others", marks=pytest.mark.slow)]


def first_word(name):
    return name.split()[0]


def kind_of_layer(row):
    """Returns the type of the layer that a row (layer, ...) begins with."""
    return row[0].type_name


def first_of_each(rows, kind=first_word):
    """Returns pytest parameters for rows, tuples or names: all slow except the first of each kind.

    Where a table has hundreds of rows, a quick run takes too long to ask all.
    """
    rows = list(rows)
    first = {kind(row): place for place, row in reversed([*enumerate(rows)])}.values()
    return [
        (pytest.param if place in first else slow)(*as_tuple(row)) for place, row in enumerate(rows)
    ]


def as_tuple(row):
    return row if isinstance(row, tuple) else (row,)
