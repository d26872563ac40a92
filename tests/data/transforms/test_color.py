"""Color transforms, against colorsys and numbers worked out by hand."""

import colorsys

import numpy as np
import pytest

from sparkdl.data import ChannelSwap, ColorJitter, Grayscale, Normalize, OneHot
from sparkdl.data.transforms.hue import shift_hue
from sparkdl.errors import ConfigError, DataError, ShapeError
from tests.data.transforms.examples import images, trained


def luma(x):
    return 0.299 * x[..., 0:1, :, :] + 0.587 * x[..., 1:2, :, :] + 0.114 * x[..., 2:3, :, :]


@pytest.mark.parametrize("part", [0.0, 0.1, -0.3, 0.5, 1.2])
def test_hues_turn_as_in_colorsys(part):
    x = images(1, (3, 6, 7), np.float32).features[0]
    x[:, 0, :3] = [[5, 0, 255], [5, 0, 255], [5, 0, 255]]  # grays have no hue
    x[:, 1, :2] = [[9, 9], [9, 1], [1, 9]]  # some pixels have two largest channels
    found = shift_hue(x, part)
    for i, j in np.ndindex(6, 7):
        h, s, v = colorsys.rgb_to_hsv(*map(float, x[:, i, j]))
        wanted = colorsys.hsv_to_rgb((h + part) % 1, s, v)
        np.testing.assert_allclose(found[:, i, j], wanted, atol=2e-3)


def test_brightness_is_a_factor_within_its_range():
    batch = images(300, (3, 4, 4), np.float32)
    y = trained(ColorJitter(brightness=0.3, white=1e9), batch)
    share = y.sum(axis=(1, 2, 3)) / batch.features.sum(axis=(1, 2, 3))
    np.testing.assert_allclose(y, batch.features * share[:, None, None, None], rtol=1e-4)
    assert 0.7 <= share.min() < 0.72 and 1.28 < share.max() <= 1.3


def solved(x, y, center):
    """Solves y = share x + (1 - share) center for the share of each image."""
    d = x - center
    return (d * (y - center)).sum(axis=(1, 2, 3)) / (d * d).sum(axis=(1, 2, 3))


@pytest.mark.parametrize("name", ["contrast", "saturation"])
def test_contrast_and_saturation_mix_with_grey(name):
    batch = images(300, (3, 4, 4), np.float32)
    x = batch.features + 1000  # far from 0, where results would be clipped
    y = trained(ColorJitter(**{name: 0.3}, white=1e9), batch.replace(features=x))
    center = luma(x).mean(axis=(1, 2, 3), keepdims=True) if name == "contrast" else luma(x)
    share = solved(x, y, center)
    mixed = share[:, None, None, None] * (x - center) + center
    np.testing.assert_allclose(y, mixed, rtol=1e-4)
    assert 0.7 <= share.min() + 1e-4 < 0.72 and 1.28 < share.max() - 1e-4 <= 1.3


def test_a_range_above_one_starts_at_nothing():
    y = trained(ColorJitter(saturation=5), images(400, (3, 4, 4)))
    spread = (y.max(axis=1).astype(int) - y.min(axis=1)).mean(axis=(1, 2))
    assert spread.min() < 5 and spread.max() > 200


@pytest.mark.parametrize("white", [255.0, 1.0])
def test_results_stay_below_white(white):
    batch = images(20, dtype=np.float32)
    batch = batch.replace(features=batch.features * np.float32(white / 255))
    y = trained(ColorJitter(brightness=2, contrast=2, saturation=2, hue=0.5, white=white), batch)
    assert y.min() >= 0 and y.max() <= white * (1 + 1e-5)


def test_grey_is_the_luma():
    batch = images(4)
    wanted = luma(batch.features.astype(float))
    found = Grayscale()(batch).features
    assert found.dtype == np.uint8 and np.abs(found - wanted).max() <= 0.501


def test_channels_change_places():
    batch = images(4)
    np.testing.assert_array_equal(ChannelSwap()(batch).features, batch.features[:, ::-1])
    found = ChannelSwap(order=(1, 2, 0))(batch).features
    np.testing.assert_array_equal(found[:, 0], batch.features[:, 1])


def test_normalize_is_that_of_torchvision():
    batch, mean, std = images(4), np.array([0.4, 0.5, 0.6]), np.array([0.2, 0.3, 0.1])
    wanted = (batch.features / 255 - mean[:, None, None]) / std[:, None, None]
    found = Normalize(mean=mean, std=std, scale=1 / 255)(batch).features
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64])
def test_one_hot(dtype):
    codes = np.array([[2, 0, 1], [1, 1, 2]], dtype)
    found = OneHot(classes=3)(images(2).replace(features=codes)).features
    np.testing.assert_array_equal(found, np.eye(3)[codes.astype(int)])


@pytest.mark.parametrize("bad", [3, -1])
def test_a_number_of_no_class_is_refused(bad):
    with pytest.raises(DataError, match=r"OneHot needs numbers in \[0, 3\), got"):
        OneHot(classes=3)(images(1).replace(features=np.array([[0, bad]])))


def test_fractions_are_no_codes():
    with pytest.raises(DataError, match="OneHot needs whole numbers, got 1.5"):
        OneHot(classes=3)(images(1).replace(features=np.array([[2.0, 1.5]])))
    with pytest.raises(DataError, match=r"OneHot needs numbers in \[0, 3\), got -0.5 to 2.0"):
        OneHot(classes=3)(images(1).replace(features=np.array([[2.0, -0.5]])))


@pytest.mark.parametrize("transform", [ColorJitter(hue=0.1), Grayscale(), ChannelSwap()], ids=str)
def test_other_than_three_channels_are_refused(transform):
    with pytest.raises(ShapeError, match="3"):
        transform(images(2, (1, 4, 4)))
    with pytest.raises(ShapeError, match=r"got \(\)"):
        transform(images(2, ()))


OPTIONS = [
    (lambda: ColorJitter(hue=0.6), r"ColorJitter.hue must be a number in \[0, 0.5\]"),
    (lambda: ColorJitter(contrast=-1), "ColorJitter.contrast must be a number >= 0"),
    (lambda: ColorJitter(white=0), "ColorJitter.white must be a number above 0"),
    (lambda: ChannelSwap(order=(0, 2)), "ChannelSwap.order must be an order of 0 and up"),
    (lambda: Normalize(std=(0.0,)), "Normalize.std.0. must be a number, not 0"),
    (lambda: Normalize(mean=()), "Normalize.mean must be a sequence of one or more numbers, got"),
    (lambda: OneHot(classes=0), "OneHot.classes must be an integer >= 1"),
]


@pytest.mark.parametrize("make, message", OPTIONS, ids=[m for _, m in OPTIONS])
def test_options_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
