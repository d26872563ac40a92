"""Crop, Mirror, Pad and MeanImage: positions of pixels, worked out by hand."""

import io
import struct

import numpy as np
import pytest

from sparkdl.data import (
    Batch,
    Compose,
    Crop,
    MeanImage,
    Mirror,
    Pad,
    ReshapeRecords,
    Resize,
    Scale,
    files,
)
from sparkdl.data.transforms import in_training
from sparkdl.errors import ConfigError, DataError, ShapeError
from tests.data.transforms.examples import images, trained


def windows(x, height, width):
    """{top left corner: window} of every window of an image."""
    corners = np.ndindex(x.shape[1] - height + 1, x.shape[2] - width + 1)
    return {(i, j): x[:, i : i + height, j : j + width] for i, j in corners}


def test_crops_are_windows_and_all_places_come_up():
    batch, found = images(300, (2, 5, 6)), []
    for x, y in zip(batch.features, trained(Crop(size=(3, 4)), batch), strict=True):
        found += [at for at, part in windows(x, 3, 4).items() if np.array_equal(part, y)]
    places, counts = np.unique(found, axis=0, return_counts=True)
    assert len(found) == 300 and len(places) == 9
    assert counts.min() > 15  # expected: 33, with a standard deviation of 5


@pytest.mark.parametrize("options", [{}, {"random": False}], ids=str)
def test_the_center_is_cropped_in_use(options):
    batch = images(4, (3, 7, 10))
    crop = Crop(size=4, **options)
    used = crop(batch).features
    np.testing.assert_array_equal(used, batch.features[:, :, 1:5, 3:7])
    assert (trained(crop, batch) == used).all() == (options != {})


def test_a_crop_of_everything_changes_nothing():
    batch = images(4, (3, 7, 10))
    np.testing.assert_array_equal(trained(Crop(size=(7, 10)), batch), batch.features)


@pytest.mark.parametrize("shape", [(3, 8, 16), (1, 5, 7), (3, 6, 8)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("axis, place", [("horizontal", 3), ("vertical", 2)])
def test_a_share_of_images_is_mirrored(shape, dtype, axis, place):
    batch = images(400, shape, dtype)
    mirrored = trained(Mirror(share=0.3, axis=axis), batch)
    flipped = np.flip(batch.features, place)
    changed = (mirrored == flipped).all(axis=(1, 2, 3))
    kept = (mirrored == batch.features).all(axis=(1, 2, 3))
    assert (changed | kept).all() and 90 < changed.sum() < 150


def test_views_are_mirrored_too():
    batch = images(8, (3, 10, 16))
    view = batch.replace(features=batch.features[:, :, ::2, 4:12])
    np.testing.assert_array_equal(trained(Mirror(share=1), view), view.features[..., ::-1])


@pytest.mark.parametrize("axis", ["horizontal", "vertical"])
@pytest.mark.parametrize("shape", [(5, 6), (2, 5, 6)])
def test_labels_of_pixels_are_mirrored_with_their_image(axis, shape):
    batch = images(60, (3, 5, 6))
    channels = 0 if len(shape) == 2 else slice(2)
    batch = batch.replace(labels=batch.features[:, channels].copy())
    chain = Compose(Mirror(axis=axis, targets=["labels"]), Mirror(targets=["labels"]))
    found = in_training(chain, 1, 3)(batch)
    moved = (found.features != batch.features).any(axis=(1, 2, 3))
    assert moved.any() and not moved.all() and found.labels.shape == (60, *shape)
    np.testing.assert_array_equal(found.labels, found.features[:, channels])
    np.testing.assert_array_equal(chain(batch).labels, batch.labels)


def test_a_mirror_needs_no_targets_at_inference():
    batch = Batch(columns={"features": images(3, (3, 5, 6)).features}, ids=np.arange(3))
    chain = Compose(Mirror(targets=["labels"]), Scale(factor=2))
    found = chain(batch)
    assert [*found.columns] == ["features"]
    np.testing.assert_array_equal(found.features, batch.features * np.float32(2))
    with pytest.raises(ConfigError, match="Mirror.targets must be one of the batch's.*'labels'"):
        trained(chain, batch)


def test_targets_of_a_mirror_must_be_columns_with_pixels():
    with pytest.raises(
        ShapeError, match=r"targets must have a value for each pixel.*labels has \(\)"
    ):
        trained(Mirror(targets=["labels"]), images())
    with pytest.raises(
        ConfigError, match="Mirror.targets must be one of the batch's.*'label'; did"
    ):
        trained(Mirror(targets=["label"]), images())


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode):
    x = images(2, (1, 3, 4)).features
    y = Pad(size=(1, 2), mode=mode, value=7)(images(2, (1, 3, 4))).features
    np.testing.assert_array_equal(y[:, :, 1:-1, 2:-2], x)
    corner = {"constant": 7, "edge": x[0, 0, 0, 0], "reflect": x[0, 0, 1, 2]}[mode]
    assert y[0, 0, 0, 0] == corner


@pytest.mark.parametrize("value, nearest", [(-1, 0), (256, 255), (300.0, 255), (127.6, 128)])
def test_bytes_are_padded_with_the_nearest_byte(value, nearest):
    assert Pad(size=1, value=value)(images(1)).features[0, 0, 0, 0] == nearest
    floats = Pad(size=1, value=value)(images(1, dtype=np.float32)).features
    assert floats[0, 0, 0, 0] == np.float32(value)


@pytest.mark.parametrize("kind", "bBhHiIlL")
@pytest.mark.parametrize("value", [-1e30, -(2.0**63), -1, 1e30, 2.0**64, 2.0**63, 2.0**32])
def test_integers_are_padded_with_the_nearest_that_the_value_has(kind, value):
    limits, y = np.iinfo(kind), Pad(size=1, value=value)(images(1, dtype=kind)).features[0, 0, 0, 0]
    nearest = int(min(max(value, limits.min), limits.max))
    assert nearest - 2048 <= y <= nearest <= limits.max, "beyond 2**53, floats are apart"
    assert y == nearest or nearest == limits.max


def test_the_mean_below_a_crop_is_subtracted():
    batch, mean = images(6, (3, 8, 8)), np.random.default_rng(2).random((3, 8, 8)) * 255
    whole = batch.replace(features=batch.features - mean.astype(np.float32))
    for transform in (MeanImage(mean=mean), MeanImage(mean=mean[None])):
        found = trained(Compose(transform, Crop(size=5)), batch)
        np.testing.assert_array_equal(found, trained(Compose(Scale(), Crop(size=5)), whole))


def test_a_mean_image_is_read_from_any_file_system():
    content = io.BytesIO()
    np.save(content, np.full((3, 12, 16), 3.0))
    with files.open("memory://means/a.npy", "wb") as file:
        file.write(content.getvalue())
    batch = images()
    found = MeanImage(path="memory://means/a.npy")(batch).features
    np.testing.assert_array_equal(found, batch.features - np.float32(3))


def npy(kind, shape):
    """Returns the bytes of a .npy file of a type and shape, with 16 bytes of numbers."""
    return npy_of(f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}}}")


def npy_of(header):
    """Returns the bytes of a .npy file with this header and 16 bytes of numbers."""
    line = f"{header}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(line)) + line + b"a\0\0\0" * 4


DAMAGED = {
    "no array": b"no array",
    "a header that does not end": npy("<f4", "((4,"),
    "absurd": npy("<f4", (2**60,)),
    "beyond 64 bits": npy("<f4", (2**70,)),
    "empty beyond 64 bits": npy("<f4", (0, 2**65)),
    "a flag for a size": npy("<f4", (True,)),
    "a type without parts": npy(((),), (4,)),
    "a list for a key": npy_of("{[]: 1}"),
    "keys of two types": npy_of("{'descr': 1, 2: 3, 'a': 4}"),
    "nested too deep": npy_of("a" + ".a" * 4000),
    "an archive": b"PK\x05\x06" + bytes(18),
    "text": npy("<U1", (4,)),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_mean_image_is_named(tmp_path, name):
    (tmp_path / "bad.npy").write_bytes(DAMAGED[name])
    problem = "must hold numbers, got <U1" if name == "text" else "cannot be read as .npy"
    with pytest.raises(DataError, match=f"bad.npy: {problem}"):
        MeanImage(path=str(tmp_path / "bad.npy"))(images())


def test_a_chain_says_what_records_must_be():
    mean = MeanImage(mean=np.zeros((3, 40, 50)))
    assert Compose(Resize(size=256), Crop(size=224)).in_shape((3, 224, 224)) == (3, None, None)
    assert Compose(mean, Crop(size=24)).in_shape((3, 24, 24)) == (3, 40, 50)
    assert Compose(Pad(size=4), Crop(size=32)).in_shape((3, 32, 32)) == (3, None, None)
    rows = Compose(ReshapeRecords(shape=(3, 40, 50)), Crop(size=24), Mirror())
    assert rows.in_shape((3, 24, 24)) == (3, 40, 50)
    assert rows.out_shape((6000,)) == (3, 24, 24)


MISFITS = [
    (Crop(size=24), (3, 22, 24), r"Crop gives examples of \(3, 24, 24\), but what follows takes"),
    (Compose(Crop(size=24), Resize(size=30)), (3, 24, 24), "Resize gives examples of"),
    (MeanImage(mean=np.zeros((3, 4, 4))), (3, 5, 5), "MeanImage gives examples of"),
    (Scale(mean=(1, 2)), (3, 5, 5), "Scale.mean needs 1 number or 3"),
    (ReshapeRecords(shape=(3, 4)), (12,), "ReshapeRecords gives examples of"),
]


@pytest.mark.parametrize("transform, shape, message", MISFITS, ids=[m for *_, m in MISFITS])
def test_what_never_fits_is_refused_before_any_record(transform, shape, message):
    with pytest.raises(ShapeError, match=message):
        transform.in_shape(shape)


WRONG_RECORDS = [
    (Crop(size=24), r"Crop of \(24, 24\) needs images of at least that, got \(3, 12, 16\)"),
    (MeanImage(mean=np.zeros((3, 4, 4))), r"MeanImage is of \(3, 4, 4\), got images \(3, 12, 16\)"),
    (
        ReshapeRecords(shape=(3, 4)),
        r"ReshapeRecords to \(3, 4\) needs as many numbers, got \(3, 12, 16\)",
    ),
]


@pytest.mark.parametrize("transform, message", WRONG_RECORDS, ids=[m for _, m in WRONG_RECORDS])
def test_wrong_records_are_refused(transform, message):
    with pytest.raises(ShapeError, match=message):
        transform(images())


OPTIONS = [
    (lambda: Crop(size=0), "Crop.size must be an integer >= 1 or a pair of them, got 0"),
    (lambda: Crop(size=(1, 2, 3)), "Crop.size must be"),
    (lambda: Crop(size=2.5), "Crop.size must be"),
    (lambda: Mirror(share=0), r"Mirror.share must be a number in \(0, 1\], got 0"),
    (lambda: Mirror(axis="x"), "Mirror.axis must be 'horizontal' or 'vertical', got 'x'"),
    (lambda: Pad(size=-1), "Pad.size must be"),
    (
        lambda: Pad(size=1, mode="wrap"),
        "Pad.mode must be 'constant', 'edge' or 'reflect', got 'wrap'",
    ),
    (lambda: Pad(size=2).in_shape((3, 4, 9)), "Pad.size must be less than half of the 4 pixels"),
    (lambda: MeanImage(), "MeanImage.path must be given if and only if mean is not"),
    (lambda: MeanImage(mean=np.zeros((1, 2, 2)), path="a"), "MeanImage.path must be"),
    (lambda: Compose(Mirror(), 3), "Compose.transforms.1. must be one of ChannelSwap"),
    (
        lambda: ReshapeRecords(shape=(3, 0)),
        "ReshapeRecords.shape.1. must be an integer >= 1, got 0",
    ),
]


@pytest.mark.parametrize("make, message", OPTIONS, ids=[m for _, m in OPTIONS])
def test_options_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_column_of_several_transforms_together_is_refused():
    with pytest.raises(ConfigError, match="Compose.column must be left out, got 'x'; each of its"):
        Compose(transforms=[Mirror()], column="x")
