"""Small cases of one test: one test each would cost more than most of them do."""

import pytest

QUICK = 6  # rows of a table that a quick run asks, too
FAILURES = Exception, pytest.fail.Exception  # what pytest.raises raises is none


def for_all(rows, check):
    """Asks `check` of each row; all that fail are told, with the row and where."""
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
    """Parameters of a test of a long table: a few of its rows, evenly chosen, then the others."""
    rows = list(rows)
    few = rows[:: -(-len(rows) // quick)]
    others = [row for row in rows if row not in few]
    return [pytest.param(few, id="few"), pytest.param(others, id="others", marks=pytest.mark.slow)]


def first_word(name):
    return name.split()[0]


def first_of_each(names, kind=first_word):
    """Parameters of a test of named rows: all are slow but the first of each kind."""
    first = {kind(name): name for name in reversed([*names])}.values()
    return [pytest.param(each, marks=[pytest.mark.slow] * (each not in first)) for each in names]
