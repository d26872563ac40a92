"""Resize, RandomResizedCrop and Rotate, against jax, scipy and numbers worked out by hand."""

import jax
import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sparkdl.data import Batch, RandomResizedCrop, Resize, Rotate
from sparkdl.data.transforms.base import Chance
from sparkdl.data.transforms.rotate import rotate_image
from sparkdl.errors import ConfigError
from tests.data.transforms.examples import images, trained

SIDES = st.integers(1, 12)


def by_jax(x, size):
    return np.asarray(jax.image.resize(x, (*x.shape[:-2], *size), "linear", antialias=False))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(SIDES, SIDES, SIDES, SIDES)
def test_resize_is_that_of_jax(height, width, high, wide):
    batch = images(2, (2, height, width), np.float32)
    found = Resize(size=(high, wide))(batch).features
    np.testing.assert_allclose(found, by_jax(batch.features, (high, wide)), atol=1e-3)


def test_bytes_are_rounded():
    batch = images(2, (3, 5, 6))
    wanted = np.rint(by_jax(batch.features.astype(np.float32), (9, 4)))
    found = Resize(size=(9, 4))(batch).features
    assert found.dtype == np.uint8
    assert np.abs(found - wanted).max() <= 1 and (found == wanted).mean() > 0.99


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float32])
@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_the_nearest_pixel_makes_no_new_numbers(kind, shape):
    """Against PIL's Image.resize with NEAREST."""
    x = np.random.default_rng(2).choice([0, 7, 255], (4, *shape, 12, 17)).astype(kind)
    change = Resize(size=(5, 31), interpolation="nearest")
    found = change(Batch.of(x)).features
    assert found.shape == (4, *change.out_shape(x.shape[1:])) and found.dtype == kind
    for ours, plane in zip(found.reshape(-1, 5, 31), x.reshape(-1, 12, 17), strict=True):
        theirs = Image.fromarray(plane.astype(np.uint8)).resize((31, 5), Image.Resampling.NEAREST)
        np.testing.assert_array_equal(ours, np.asarray(theirs))


@pytest.mark.parametrize("kind", "bBhHiIlL")
def test_integers_at_their_limits_stay_there(kind):
    limits = np.iinfo(kind)
    for limit in (limits.min, limits.max):
        batch = Batch.of(np.full((1, 1, 4, 4), limit, kind), np.zeros(1, int))
        found = Resize(size=7)(batch).features
        np.testing.assert_array_equal(found, int(found[0, 0, 0, 0]))
        assert found.dtype == kind and abs(int(found[0, 0, 0, 0]) - limit) <= abs(limit) >> 23


@pytest.mark.slow
def test_a_window_of_a_random_size_is_resized():
    batch = images(24, (2, 20, 30), np.float32)
    crop = RandomResizedCrop(size=8)
    boxes = list(crop.boxes(Chance(ids=batch.ids, seed=1, epoch=3), 20, 30))
    for x, (top, left, high, wide), y in zip(
        batch.features, boxes, trained(crop, batch), strict=True
    ):
        part = x[:, top : top + high, left : left + wide]
        assert part.shape == (2, high, wide)
        inner = by_jax(part, (8, 8))[:, 1:-1, 1:-1]  # edges read pixels outside
        if min(high, wide) >= 8:
            np.testing.assert_allclose(y[:, 1:-1, 1:-1], inner, atol=1e-3)


def test_areas_and_ratios_are_as_drawn():
    n = 3000
    ids = np.arange(n, dtype=np.uint64)
    crop = RandomResizedCrop(size=8, area=(0.1, 0.4))
    boxes = np.array(list(crop.boxes(Chance(ids=ids, seed=0, epoch=0), 200, 300)))
    area, ratio = boxes[:, 2] * boxes[:, 3] / 60000, boxes[:, 3] / boxes[:, 2]
    assert 0.098 < area.min() < 0.105 and 0.39 < area.max() < 0.41
    assert abs(area.mean() - 0.25) < 0.01 and abs(np.log(ratio).mean()) < 0.02
    assert 0.74 < ratio.min() < 0.77 and 1.3 < ratio.max() < 1.35
    assert (boxes[:, 0] + boxes[:, 2] <= 200).all() and (boxes[:, 1] + boxes[:, 3] <= 300).all()
    assert boxes[:, 0].min() == boxes[:, 1].min() == 0


def test_where_no_window_fits_it_is_the_largest_in_the_center():
    ids = np.arange(3, dtype=np.uint64)
    crop = RandomResizedCrop(size=8, area=(1, 1))
    boxes = list(crop.boxes(Chance(ids=ids, seed=0, epoch=0), 10, 40))
    assert boxes == [(0, 13, 10, 13)] * 3


@pytest.mark.parametrize(
    "size, part",
    [
        ((4, 4), np.s_[:, :, :, 5:15]),
        ((10, 20), np.s_[:]),
        ((4, 16), np.s_[:, :, 2:7]),
    ],
    ids=str,
)
def test_in_use_it_is_the_center_of_the_shape_of_the_result(size, part):
    batch = images(3, (2, 10, 20), np.float32)
    found = RandomResizedCrop(size=size)(batch).features
    wanted = by_jax(batch.features[part], size)
    if size == (4, 16):  # edges read pixels outside the crop
        found, wanted = found[:, :, 1:-1], wanted[:, :, 1:-1]
    np.testing.assert_allclose(found, wanted, atol=1e-3)


@pytest.mark.parametrize("degrees", [0, 13, 90, -50, 180])
@pytest.mark.parametrize("shape", [(9, 9), (8, 13)], ids=str)
def test_rotation_is_that_of_scipy(degrees, shape):
    x = images(1, (1, *shape), np.float32).features[0]
    found = rotate_image(x, np.radians(degrees), 5.0)[0]
    framed = np.pad(x[0], 1, constant_values=5)  # scipy does not interpolate with its border
    options = {"reshape": False, "order": 1, "mode": "nearest"}
    wanted = scipy.ndimage.rotate(framed, degrees, **options)[1:-1, 1:-1]
    np.testing.assert_allclose(found, wanted, atol=1e-2)


def test_angles_are_drawn_from_both_sides():
    ramp = np.tile(np.arange(15.0, dtype=np.float32), (1, 15, 1))
    batch = images(200).replace(features=np.tile(ramp, (200, 1, 1, 1)))
    found = trained(Rotate(degrees=20), batch)[:, 0, 5:10, 7].astype(float)
    slopes = found[:, 4] - found[:, 0]  # on a ramp that rises to the right: -4 sin(angle)
    limit = 4 * np.sin(np.radians(20))
    assert -limit <= slopes.min() < -0.8 * limit and 0.8 * limit < slopes.max() <= limit


OPTIONS = [
    (lambda: Resize(size=(3, 0)), "Resize.size.1. must be an integer >= 1, got 0"),
    (lambda: RandomResizedCrop(size=0), "RandomResizedCrop.size must be"),
    (
        lambda: RandomResizedCrop(size=4, area=(0, 1)),
        "RandomResizedCrop.area.0. must be a number in .0, 1., got 0",
    ),
    (lambda: RandomResizedCrop(size=4, ratio=(2, 1)), "RandomResizedCrop.ratio must be"),
    (lambda: Rotate(degrees=0), r"Rotate.degrees must be a number in \(0, 180\], got 0"),
]


@pytest.mark.parametrize("make, message", OPTIONS, ids=[m for _, m in OPTIONS])
def test_options_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
