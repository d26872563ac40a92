"""Small cases of one test: one test each would cost more than most of them do."""

import pytest

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
