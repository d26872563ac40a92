"""Images with an EXIF orientation are rotated as by PIL's ImageOps; deep colors are refused."""

import io
import struct
import zlib

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
from sparkdl.data.batches.columns import Violation
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
    """Returns the bytes of an image file with an orientation tag, or with the option `exif`."""
    exif, content = Image.Exif(), io.BytesIO()
    exif[ORIENTATION] = orientation
    Image.fromarray(X).convert(mode).save(content, kind, **{"exif": exif} | options)
    return content.getvalue()


def upright(content, mode="RGB"):
    """Returns an image (C, H, W) as PIL decodes and rotates it."""
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
    """For tags 1 to 8 the standard says which corner the first stored row and column are at."""
    first = ["tl", "tr", "br", "bl", "tl", "tr", "br", "bl"]
    for orientation, corner in enumerate(first, 1):
        x = decode_image(photograph(orientation), exif_orientation=True)
        at = x[:, 0 if corner[0] == "t" else -1, 0 if corner[1] == "l" else -1]
        np.testing.assert_array_equal(at, X[0, 0])


def test_nobody_is_turned_unasked():
    for orientation in range(1, 9):
        np.testing.assert_array_equal(decode_image(photograph(orientation)), X.transpose(2, 0, 1))


@pytest.mark.filterwarnings("ignore:.*EXIF data")  # PIL warns of corrupt data
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
    """Images of Datums are BGR."""
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


def png(color, channels, bits):
    """Returns a PNG of 2 x 2 zeros, built after its specification (W3C, 2003)."""
    row = bytes(1 + 2 * channels * bits // 8)
    header = struct.pack(">IIBBBBB", 2, 2, bits, color, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(2 * row)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def ppm(kind, channels, largest):
    width = 2 if largest > 255 else 1
    return b"%s 2 2 %d\n" % (kind, largest) + bytes(4 * channels * width)


def tiff(order, bits):
    """Returns a TIFF of 2 x 2 RGB zeros, built after TIFF 6.0."""
    start = 8 + 2 + 12 * 8 + 4
    shorts = {256: 2, 257: 2, 259: 1, 262: 2, 277: 3, 278: 2}
    entries = [(tag, 3, 1, struct.pack(f"{order}HH", n, 0)) for tag, n in shorts.items()]
    entries += [(258, 3, 3, struct.pack(f"{order}I", start))]
    entries += [(273, 4, 1, struct.pack(f"{order}I", start + 6))]
    head = struct.pack(f"{order}HIH", 42, 8, len(entries))
    body = b"".join(struct.pack(f"{order}HHI", *one[:3]) + one[3] for one in sorted(entries))
    tail = struct.pack(f"{order}I3H", 0, bits, bits, bits) + bytes(12 * bits // 8)
    return {"<": b"II", ">": b"MM"}[order] + head + body + tail


BMP_565 = (  # 16 bits per pixel, not per channel
    b"BM"
    + struct.pack("<IHHI", 0, 0, 0, 66)
    + struct.pack("<IiiHHIIiiII", 40, 2, 2, 1, 16, 3, 8, 0, 0, 0, 0)
    + struct.pack("<III", 0xF800, 0x7E0, 0x1F)
    + bytes(8)
)
DEPTHS = {  # at most 8 bits per channel, and the same format with more
    "PNG gray": (png(0, 1, 8), png(0, 1, 16)),
    "PNG RGB": (png(2, 3, 8), png(2, 3, 16)),
    "PNG gray, alpha": (png(4, 2, 8), png(4, 2, 16)),
    "PNG RGBA": (png(6, 4, 8), png(6, 4, 16)),
    "PGM": (ppm(b"P5", 1, 255), ppm(b"P5", 1, 65535)),
    "PPM": (ppm(b"P6", 3, 255), ppm(b"P6", 3, 65535)),
    "PPM of 10 bits": (ppm(b"P6", 3, 15), ppm(b"P6", 3, 1023)),
    "PPM in text": (b"P3 1 1 255 1 2 3 ", b"P3 1 1 256 1 2 3 "),
    "TIFF": (tiff("<", 8), tiff("<", 16)),
    "TIFF of Motorola": (tiff(">", 8), tiff(">", 16)),
    "BMP": (BMP_565, None),
}


@pytest.mark.parametrize("channels", ["RGB", "gray", None])
@pytest.mark.parametrize("case", DEPTHS)
def test_more_than_8_bits_a_channel_are_refused(case, channels):
    good, deep = DEPTHS[case]
    assert decode_image(good, channels).dtype == np.uint8
    if deep is not None:
        with pytest.raises(Violation, match="image must have 8 bits a channel, got mode"):
            decode_image(deep, channels)
