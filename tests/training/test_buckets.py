"""Where the gradient is cut."""

import pytest

from sparkdl.training.buckets import cut

LAYOUT = {"a": slice(0, 10), "b": slice(10, 12), "c": slice(12, 13), "d": slice(13, 50)}


@pytest.mark.parametrize(
    "size, parts",
    [
        (1, [(13, 50), (12, 13), (10, 12), (0, 10)]),
        (3, [(13, 50), (10, 13), (0, 10)]),
        (38, [(12, 50), (0, 12)]),
        (50, [(0, 50)]),
        (51, [(0, 50)]),
    ],
)
def test_neighbours_share_a_bucket_from_the_end_on(size, parts):
    owners, found = cut(LAYOUT, size)
    assert found == [slice(*part) for part in parts]
    for name, place in owners.items():
        whole, part = found[place], LAYOUT[name]
        assert whole.start <= part.start and part.stop <= whole.stop


def test_without_parameters_there_is_no_bucket():
    assert cut({}, 5) == ({}, [])
