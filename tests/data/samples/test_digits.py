"""The sample of digits inside the package."""

import numpy as np
import pytest

from sparkdl.data import digits
from sparkdl.errors import ConfigError


@pytest.mark.parametrize("part, count, first", [("train", 8000, [7, 2, 1, 0]), ("test", 2000, [4])])
def test_digits(part, count, first):
    batch = digits(part)
    assert batch.features.shape == (count, 1, 28, 28)
    assert batch.features.dtype == np.uint8
    assert batch.labels.shape == (count,)
    assert batch.labels.dtype == np.int32
    assert batch.labels[: len(first)].tolist() == first
    assert set(batch.labels) == set(range(10))


def test_pictures_are_dark_at_the_rim_and_bright_inside():
    images = digits("test").features
    assert images[..., 0, :].mean() < 1
    assert images[..., 8:20, 8:20].mean() > 50


def test_parts_share_no_record():
    assert not set(digits("train").ids) & set(digits("test").ids)


def test_another_part_is_refused():
    with pytest.raises(ConfigError, match="parts .*'train', 'test'.*, got 'val'"):
        digits("val")
