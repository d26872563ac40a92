"""Photographs that a camera has stored lying are turned as PIL's ImageOps turns them."""

import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image, ImageOps

from sparkdl.data import (
    LMDB,
    AvroFiles,
    Batch,
    Images,
    SequenceFiles,
    TFRecords,
    write_sequence_file,
)
from sparkdl.data.readers.encodings.datum import Datum
from sparkdl.data.readers.encodings.image_codec import ORIENTATION, decode_image, resize_image
from sparkdl.data.readers.tables.frame_columns import Pictures
from sparkdl.errors import ConfigError
from tests.data.examples import example_of, of_bytes, of_ints, tfrecord
from tests.data.lmdbs import put
from tests.data.readers.avro import test_avro_files as avro

X = np.random.default_rng(8).integers(0, 256, (4, 6, 3)).astype(np.uint8)
SIDEWAYS = 6


def photograph(orientation, kind="PNG", mode="RGB", **options):
    """Bytes of an image file with the tag, or with what `exif` says."""
    exif, content = Image.Exif(), io.BytesIO()
    exif[ORIENTATION] = orientation
    Image.fromarray(X).convert(mode).save(content, kind, **{"exif": exif} | options)
    return content.getvalue()


def upright(content, mode="RGB"):
    """Returns (C, H, W) as PIL turns and decodes it."""
    with Image.open(io.BytesIO(content)) as image:
        x = np.asarray(ImageOps.exif_transpose(image).convert(mode))
    return x[np.newaxis] if x.ndim == 2 else x.transpose(2, 0, 1)


@pytest.mark.parametrize("mode, channels", [("RGB", "RGB"), ("L", "gray")])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_of_every_orientation_are_turned_as_by_pil(orientation, kind, mode, channels):
    content = photograph(orientation, kind, mode)
    found, wanted = decode_image(content, channels, exif_orientation=True), upright(content, mode)
    assert wanted.shape[1:] == ((6, 4) if orientation > 4 else (4, 6))
    np.testing.assert_array_equal(found, wanted)
    assert found.flags.c_contiguous
    sized = decode_image(content, channels, (5, 3), exif_orientation=True)
    np.testing.assert_array_equal(sized, resize_image(wanted, (5, 3)))


def test_the_corner_that_the_tag_names_comes_first():
    """As the standard says where the stored first row and column are, for 1 to 8."""
    first = ["tl", "tr", "br", "bl", "tl", "tr", "br", "bl"]
    for orientation, corner in enumerate(first, 1):
        x = decode_image(photograph(orientation), exif_orientation=True)
        at = x[:, 0 if corner[0] == "t" else -1, 0 if corner[1] == "l" else -1]
        np.testing.assert_array_equal(at, X[0, 0])


def test_nobody_is_turned_unasked():
    for orientation in range(1, 9):
        np.testing.assert_array_equal(decode_image(photograph(orientation)), X.transpose(2, 0, 1))


@pytest.mark.filterwarnings("ignore:.*EXIF data")  # PIL tells of what is corrupt
@pytest.mark.parametrize(
    "exif",
    [b"", b"Exif\0\0", b"Exif\0\0II", b"Exif\0\0MM\0*\0\0\0\x08\0\1", b"\0" * 30]
    + [b"Exif\0\0II*\0\x08\0\0\0\1\0\x12\1" + tag for tag in (b"\3\0\1\0\0\0\x09\0", b"\2\0\xff")],
)
def test_what_says_nothing_of_use_turns_nothing(exif):
    content = photograph(1, exif=exif)
    x = decode_image(content, exif_orientation=True)
    np.testing.assert_array_equal(x, X.transpose(2, 0, 1))


def datum(content):
    return Datum(encoded=True, data=content, label=1).SerializeToString()


def images(path, content):
    (path / "a").mkdir()
    (path / "a/1.png").write_bytes(content)
    return Images(str(path), exif_orientation=True)


def tfrecords(path, content):
    example = example_of(features=of_bytes(content), label=of_ints([1]))
    (path / "a").write_bytes(tfrecord(example))
    return TFRecords(str(path / "a"), content="images", exif_orientation=True)


def avro_files(path, content):
    avro.write(path / "a", "bytes", [content])
    return AvroFiles(str(path / "a"), content="images", exif_orientation=True)


def sequence_files(path, content, kind="images"):
    write_sequence_file(path / "a", [("1", content)])
    return SequenceFiles(str(path), content=kind, exif_orientation=True)


def sequence_files_of_datums(path, content):
    return sequence_files(path, datum(content), "datums")


def lmdb(path, content):
    return LMDB(put(path / "db", [(b"0", datum(content))]), exif_orientation=True)


@pytest.mark.parametrize(
    "make, channels",
    [
        (images, 1),
        (tfrecords, 1),
        (avro_files, 1),
        (sequence_files, 1),
        (sequence_files_of_datums, -1),
        (lmdb, -1),
    ],
)
def test_every_reader_of_images_turns_them(make, channels, tmp_path):
    """Those of Datums are BGR."""
    content = photograph(SIDEWAYS)
    source = make(tmp_path, content)
    batch = Batch.concat([batch for split in source.splits() for batch in source.read(split)])
    np.testing.assert_array_equal(batch.features, [upright(content)[::channels]])


@pytest.mark.parametrize("shape", [None, (3, 6, 4)])
def test_columns_of_images_are_turned(shape):
    content = photograph(SIDEWAYS)
    column = Pictures(name="a", shape=shape, exif_orientation=True)
    found = column.array(pa.table({"a": [content, content]}))
    np.testing.assert_array_equal(found, [upright(content)[::-1]] * 2)


REFUSED = [
    (lambda on: TFRecords("a", **on), "TFRecords.exif_orientation must be False where content is"),
    (lambda on: AvroFiles("a", **on), "AvroFiles.exif_orientation must be False where content is"),
    (
        lambda on: Pictures(name="a", shape=(1, 2, 2), encoded=False, **on),
        "Pictures.exif_orientation must be False for images that are not encoded",
    ),
]


@pytest.mark.parametrize("make, message", REFUSED)
def test_what_is_not_encoded_has_no_orientation(make, message):
    with pytest.raises(ConfigError, match=message):
        make({"exif_orientation": True})
