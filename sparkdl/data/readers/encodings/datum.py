"""Codec for Caffe's Datum message: one image and its label.

Databases repeat the same few bytes around every image, so these are compared rather than parsed,
and an image is copied only once, from the memory map to its place in the batch.
"""

import math
from functools import lru_cache

import numpy as np
from google.protobuf import message

from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.image_codec import decode_image, resize_image
from sparkdl.data.readers.encodings.protobuf_messages import messages

Datum = messages(
    "sparkdl.datum",
    {
        "Datum": [  # as in Caffe 1.0
            ("channels", 1, "int32"),
            ("height", 2, "int32"),
            ("width", 3, "int32"),
            ("data", 4, "bytes"),
            ("label", 5, "int32"),
            ("float_data", 6, "float*"),
            ("encoded", 7, "bool"),
        ]
    },
)["Datum"]


def encode(x, label=None):
    """Encodes an image (C, H, W) as a Datum: uint8 as `data`, other types as `float_data`."""
    channels, height, width = x.shape
    datum = Datum(channels=channels, height=height, width=width)
    if label is not None:
        datum.label = int(label)
    if x.dtype == np.uint8:
        datum.data = x.tobytes()
    else:
        datum.float_data.extend(x.ravel().tolist())
    return datum.SerializeToString()


def decode(values, size=None, exif_orientation=False):
    """Decodes serialized Datums: images (n, C, H, W), uint8 or float32, and labels (n,) int32.

    JPEG or PNG images in Datums are decoded; colors become BGR, as in Caffe.

    Parameters
    ----------
    values : list of memoryview
        At least one.
    size : (height, width) or None
        Images are resized bilinearly to it.
    exif_orientation : bool
        Whether encoded images are rotated according to their EXIF orientation.

    Raises
    ------
    Violation
        For the first value that is no valid Datum, or whose shape differs from the first.
    """
    options = size, exif_orientation
    first, _ = _parse(values[0], 0, *options)
    decoded = _decode_alike(values, first.shape) if first.dtype == np.uint8 else None
    return decoded or _decode_singly(values, first.shape, *options)


def _decode_alike(values, shape):
    """Decodes values that all begin with the same bytes; returns None if they do not.

    It does as little as possible per value, as that would take longer than all the copying.
    """
    head, count = _head(shape), len(values)
    heads, images, tails = _split_values(values, len(head), len(head) + math.prod(shape))
    if heads != head * count or len(images) != count * math.prod(shape):
        return None
    labels = {tail: _label(tail) for tail in set(tails)}
    if None in labels.values():
        return None
    codes = np.fromiter(map(labels.get, tails), np.int32, count)
    return np.frombuffer(images, np.uint8).reshape(count, *shape), codes


def _split_values(values, start, stop):
    """Splits values at `start` and `stop` into three parts.

    Returns the first parts joined, the second parts joined, and a list of the third parts.
    """
    if len(set(map(len, values))) > 1:
        tails = [bytes(value[stop:]) for value in values]
        images = bytearray().join([value[start:stop] for value in values])
        return b"".join([value[:start] for value in values]), images, tails
    rows = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), -1)
    ends, width = rows[:, stop:].tobytes(), max(0, rows.shape[1] - stop)
    tails = [ends[i * width : (i + 1) * width] for i in range(len(values))]
    return rows[:, :start].tobytes(), bytearray(rows[:, start:stop].tobytes()), tails


@lru_cache(maxsize=8)
def _head(shape):
    """Returns the encoded bytes before an image of this shape."""
    size = math.prod(shape)
    return encode(np.zeros(shape, np.uint8))[:-size]


@lru_cache(maxsize=2**16)
def _label(tail):
    """Returns the label after an image, or None if there is anything else."""
    try:
        datum = Datum.FromString(tail)
    except message.DecodeError:
        return None
    alone = all(field.name in ("label", "encoded") for field, _ in datum.ListFields())
    return datum.label if alone and not datum.encoded else None


def _decode_singly(values, shape, *options):
    images, labels = [], np.empty(len(values), np.int32)
    for i, value in enumerate(values):
        image, labels[i] = _parse(value, i, *options)
        if image.shape != shape:
            raise Violation(i, f"Datum must have the shape {shape} of the first, got {image.shape}")
        images.append(image)
    return np.stack(images), labels


def _parse(value, row, size, exif_orientation):
    """Returns the image (C, H, W) and the label of one Datum."""
    try:
        datum = Datum.FromString(bytes(value))
    except message.DecodeError:
        raise Violation(row, f"must be a Datum, got {bytes(value[:16])!r}") from None
    if datum.encoded:
        image = _decode_pixels(datum, row, exif_orientation)
    else:
        image = _raw_pixels(datum, row)
    return resize_image(image, size), datum.label


def _decode_pixels(datum, row, exif_orientation):
    image = decode_image(datum.data, row=row, exif_orientation=exif_orientation)
    return image[::-1] if len(image) == 3 else image


def _raw_pixels(datum, row):
    shape = datum.channels, datum.height, datum.width
    image = _numbers(datum)
    if image.size == 0 or image.size != math.prod(shape) or min(shape) < 1:
        raise Violation(row, f"Datum of shape {shape} must hold as many numbers, got {image.size}")
    return image.reshape(shape)


def _numbers(datum):
    if datum.data:
        return np.frombuffer(datum.data, np.uint8)
    return np.array(datum.float_data, np.float32)
