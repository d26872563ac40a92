"""Masks move with their images: against numpy's indices, PIL, jax and scipy."""

import jax
import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sparkdl.data import Batch, Compose, Crop, Mirror, Pad, RandomResizedCrop, Resize, Rotate, Scale
from sparkdl.data.transforms import in_training
from sparkdl.data.transforms.interpolate import nearest
from sparkdl.data.transforms.pixels import Pixels
from sparkdl.data.transforms.rotate import rotate_to_nearest
from sparkdl.errors import ConfigError, ShapeError

SIZES = [(11, 16), (9, 8), (7, 7)]
KINDS = [np.uint8, np.int32, np.float32]
MOVES = {
    "Crop": Crop(size=(6, 5), targets=["labels"]),
    "Mirror": Mirror(targets=["labels"]),
    "Pad": Pad(size=(2, 3), mode="edge", targets=["labels"]),
    "RandomResizedCrop": RandomResizedCrop(size=(10, 6), targets=["labels"]),
    "Resize": Resize(size=(5, 13), targets=["labels"]),
    "Rotate": Rotate(degrees=60, target_fill=255, targets=["labels"]),
}


def places(n, size, shape=(), kind=np.int32, seed=0):
    """Returns images of the row and column of each pixel, and of ones; and random masks."""
    rows, columns = np.indices(size, np.float32)
    x = np.tile(np.stack([rows, columns, np.ones(size, np.float32)]), (n, 1, 1, 1))
    ids = [0, 1, 2, 20, 255]
    labels = np.random.default_rng(seed).choice(ids, (n, *shape, *size)).astype(kind)
    return Batch(columns={"features": x, "labels": labels}, ids=np.arange(n, dtype=np.uint64))


def of_places(masks, images):
    """Returns the pixels of masks (n, ..., H, W) nearest to the places that images tell.

    An image's bilinear weights within its border are its third channel.
    """
    weights = np.where(images[:, 2] > 0, images[:, 2], 1)
    rows, columns = (np.rint(images[:, i] / weights).astype(int) for i in (0, 1))
    return np.stack([mask[..., r, c] for mask, r, c in zip(masks, rows, columns, strict=True)])


def certain(images):
    """Returns the pixels (n, H, W) that come from inside an image, and from one nearest pixel."""
    fraction = images[:, :2] % 1
    return (images[:, 2] == 1) & (np.abs(fraction - 0.5) > 1e-3).all(axis=1)


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("shape, kind", [((), kind) for kind in KINDS] + [((2,), np.uint8)])
@pytest.mark.parametrize("n", [1, 30])
def test_each_pixel_of_a_mask_is_that_of_its_image(name, size, shape, kind, n):
    batch = places(n, size, shape, kind)
    for move in (in_training(MOVES[name], 1, 3), MOVES[name]):
        found = move(batch)
        wanted, known = of_places(batch.labels, found.features), certain(found.features)
        known = np.broadcast_to(known if shape == () else known[:, None], wanted.shape)
        assert found.labels.dtype == kind and found.labels.shape == wanted.shape
        np.testing.assert_array_equal(found.labels[known], wanted[known])
        assert known.mean() > 0.4


def test_a_mask_in_training_is_another_than_at_inference():
    batch = places(30, (11, 16))
    for name in ("Crop", "Mirror", "RandomResizedCrop", "Rotate"):
        trained = in_training(MOVES[name], 1, 3)(batch).labels
        assert (trained != MOVES[name](batch).labels).any(), name


def test_several_targets_move_alike_through_a_chain():
    batch = places(30, (9, 14), kind=np.int32)
    depth = np.random.default_rng(1).random((30, 1, 9, 14)).astype(np.float32)
    batch = batch.replace(depth=depth, marks=batch.labels.astype(np.uint8))
    chain = Compose(
        Mirror(targets=["labels", "depth", "marks"]),
        Pad(size=3, mode="reflect", targets=["labels", "depth", "marks"]),
        Crop(size=(8, 11), targets=["labels", "depth", "marks"]),
        Mirror(axis="vertical", targets=["labels", "depth", "marks"]),
        Scale(factor=2),
    )
    for move in (in_training(chain, 5, 2), chain):
        found = move(batch)
        wanted = of_places(batch.labels, found.features / 2)
        np.testing.assert_array_equal(found.labels, wanted)
        np.testing.assert_array_equal(found.columns["marks"], wanted)
        assert found.columns["marks"].dtype == np.uint8
        same = of_places(batch.columns["depth"], found.features / 2)
        np.testing.assert_array_equal(found.columns["depth"], same)


def test_the_mask_is_there_where_a_device_computes_the_image():
    batch = places(9, (8, 8))
    stored = batch.replace(features=(batch.features * 9).astype(np.uint8))
    chain = Compose(Crop(size=5, targets=["labels"]), Mirror(targets=["labels"]))
    left = chain.in_training(1, 3, [np.uint8])(stored)
    assert isinstance(left.features, Pixels)
    wanted = of_places(batch.labels, left.features.numbers() / np.float32(9))
    np.testing.assert_array_equal(left.labels, wanted)


def test_the_center_of_a_mask_is_cropped_at_inference():
    batch = places(3, (7, 10))
    found = Crop(size=4, targets=["labels"])(batch)
    np.testing.assert_array_equal(found.labels, batch.labels[:, 1:5, 3:7])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill", [0, 255])
def test_new_pixels_have_the_fill(kind, fill):
    batch = places(20, (9, 9), kind=kind)
    batch = batch.replace(labels=np.full_like(batch.labels, 7))
    padded = Pad(size=(1, 2), value=3, target_fill=fill, targets=["labels"])(batch).labels
    wanted = np.pad(batch.labels, [(0, 0), (1, 1), (2, 2)], constant_values=fill)
    np.testing.assert_array_equal(padded, wanted)
    turn = Rotate(degrees=60, target_fill=fill, targets=["labels"])
    found = in_training(turn, 1, 3)(batch)
    inside = found.features[:, 2]
    assert (found.labels[inside == 0] == fill).all() and (inside == 0).any()
    assert (found.labels[inside > 0.75] == 7).all()
    assert set(np.unique(found.labels)) == {7, fill}


@pytest.mark.parametrize("degrees", [13, -50, 88, 171])
@pytest.mark.parametrize("size", [(9, 9), (8, 13)], ids=str)
def test_rotation_to_the_nearest_pixel_is_that_of_scipy_and_pil(degrees, size):
    mask = places(1, size, kind=np.uint8).labels[0]
    found = rotate_to_nearest(mask[None], np.radians(degrees), 9)[0]
    framed = np.pad(mask, 1, constant_values=9)  # scipy does not take pixels beyond the border
    options = {"reshape": False, "order": 0, "mode": "nearest"}
    by_scipy = scipy.ndimage.rotate(framed, degrees, **options)[1:-1, 1:-1]
    by_pil = Image.fromarray(mask).rotate(degrees, Image.Resampling.NEAREST, fillcolor=9)
    sure = certain_after_rotation(size, degrees)
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(found[sure], by_scipy[sure])
    np.testing.assert_array_equal(found[sure], np.asarray(by_pil)[sure])


def certain_after_rotation(size, degrees):
    """Returns the pixels (H, W) that do not come from halfway between two."""
    down, right = (i - (n - 1) / 2 for i, n in zip(np.indices(size), size, strict=True))
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    before = cos * down + sin * right + size[0] / 2, cos * right - sin * down + size[1] / 2
    return np.all([np.abs(place - np.rint(place)) > 1e-3 for place in before], axis=0)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_quarter_turn_moves_each_pixel(quarters):
    mask = places(1, (8, 8), kind=np.int32).labels[0]
    found = rotate_to_nearest(mask[None], np.radians(90 * quarters), 9)[0]
    np.testing.assert_array_equal(found, np.rot90(mask, quarters))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_nearest_pixel_is_that_of_pil_and_jax(data):
    sides = st.integers(1, 40)
    height, width, high, wide = (data.draw(sides) for _ in range(4))
    top, left = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    box = (
        top,
        left,
        data.draw(st.integers(1, height - top)),
        data.draw(st.integers(1, width - left)),
    )
    mask = np.arange(height * width, dtype=np.int32).reshape(height, width)
    part = mask[top : top + box[2], left : left + box[3]]
    found = nearest(mask, box, (high, wide))
    sure = np.ix_(*(between_edges(*pair) for pair in ((box[2], high), (box[3], wide))))
    by_pil = np.asarray(Image.fromarray(part).resize((wide, high), Image.Resampling.NEAREST))
    by_jax = np.asarray(jax.image.resize(part, (high, wide), "nearest"))
    np.testing.assert_array_equal(found[sure], by_pil[sure])
    np.testing.assert_array_equal(found[sure], by_jax[sure])


def between_edges(before, after):
    """Returns the places whose center is on no edge of a pixel, where rounding decides."""
    return np.flatnonzero((2 * np.arange(after) + 1) * before % (2 * after))


@pytest.mark.parametrize("name", MOVES)
def test_no_targets_are_needed_at_inference(name):
    batch = places(3, (11, 16))
    alone = Batch(columns={"features": batch.features}, ids=batch.ids)
    found = MOVES[name](alone)
    assert [*found.columns] == ["features"]
    np.testing.assert_array_equal(found.features, MOVES[name](batch).features)
    with pytest.raises(ConfigError, match=f"{name}.targets must be one of the batch's.*'labels'"):
        in_training(MOVES[name], 1, 3)(alone)


@pytest.mark.parametrize("name", MOVES)
def test_an_image_without_targets_moves_alone(name):
    batch = places(3, (11, 16))
    alone = type(MOVES[name]).from_dict(MOVES[name].to_dict() | {"targets": []})
    found, both = in_training(alone, 1, 3)(batch), in_training(MOVES[name], 1, 3)(batch)
    assert found.labels is batch.labels
    np.testing.assert_array_equal(found.features, both.features)


@pytest.mark.parametrize("name", MOVES)
def test_an_empty_batch_has_empty_targets(name):
    found = in_training(MOVES[name], 1, 3)(places(0, (11, 16)))
    assert found.labels.shape == (0, *found.features.shape[2:])


@pytest.mark.parametrize("name", MOVES)
def test_targets_have_the_shapes_of_images(name):
    move = MOVES[name]
    features = move.out_shape((3, 11, 16))
    shapes = {"features": features, "labels": features[1:]}
    before = move.in_shapes(shapes)
    assert before["labels"] == before["features"][1:] == move.in_shape(features)[1:]
    assert move.in_shapes({"features": features})["features"] == before["features"]
    with pytest.raises(ShapeError, match=rf"{name}.targets must have a value for each.*\(4,\)"):
        move.in_shapes({"labels": (4,)})


@pytest.mark.parametrize("name", ["Crop", "Pad", "RandomResizedCrop", "Rotate"])
@pytest.mark.parametrize("shape", [(11, 15), (1, 16, 11)], ids=str)
def test_a_mask_of_another_size_is_refused(name, shape):
    batch = places(3, (11, 16)).replace(labels=np.zeros((3, *shape), int))
    message = rf"{name}.targets must have the size of the images, \(11, 16\): labels has "
    for move in (in_training(MOVES[name], 1, 3), MOVES[name]):
        with pytest.raises(ShapeError, match=message):
            move(batch)


def test_a_network_of_another_size_is_refused():
    with pytest.raises(ShapeError, match=r"Crop gives .*\(1, 6, 5\).*'labels' is one of Crop.targ"):
        MOVES["Crop"].in_shapes({"labels": (6, 6)})


REFUSED = [
    (lambda: Crop(size=3, targets=["features"]), "Crop.targets must be different columns other"),
    (lambda: Pad(size=3, targets=["a", "a"]), "Pad.targets must be different columns other than"),
    (lambda: Rotate(degrees=3, targets=[3]), "Rotate.targets.0. must be a name"),
    (lambda: Rotate(degrees=3, target_fill="a"), "Rotate.target_fill must be a finite number"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=[m for _, m in REFUSED])
def test_options_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
