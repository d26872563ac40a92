"""The begin of each test, so that what others left behind does not count."""

import time

import pytest

BEGUN = []


@pytest.fixture(autouse=True)
def note_begin():
    BEGUN[:] = [time.time()]
