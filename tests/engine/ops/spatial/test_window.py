"""Windows that see nothing but padding are found, however large the numbers are."""

from itertools import product

import pytest

from sparkdl.engine.ops.spatial.window import all_see_something, see_something, window_starts


def test_the_answer_is_that_for_each_window():
    sizes = product(range(1, 6), range(1, 5), range(1, 5), range(5), range(4), range(1, 8))
    answers = set()
    for n, size, stride, before, after, dilation in sizes:
        starts = window_starts(n, size, stride, (before, after), dilation)
        expected = see_something(starts, n, size, dilation).all()
        assert all_see_something(n, size, stride, (before, after), dilation) == expected
        answers.add(bool(expected))
    assert answers == {True, False}


ABSURD = [(3, 1, False), (2**31, 1, True), (2, 2**31, False)]


@pytest.mark.parametrize("size, dilation, sees", ABSURD)
def test_absurd_padding_takes_no_memory(size, dilation, sees):
    assert all_see_something(7, size, 1, (2**31 - 1, 2**31 - 1), dilation) == sees
    assert all_see_something(2**32, size, 1, (0, 0), 1)
