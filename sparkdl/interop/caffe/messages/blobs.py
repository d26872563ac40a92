"""Conversion between Caffe's blobs and arrays."""

from math import prod

import numpy as np
from google.protobuf.message import DecodeError

from sparkdl.data import files
from sparkdl.errors import DataError
from sparkdl.interop.caffe.messages.binary import (
    as_bytes,
    parse_bytes,
    read_bytes,
    within_limit,
)
from sparkdl.interop.caffe.messages.schema import MESSAGES, RAW

SIDES = ("num", "channels", "height", "width")  # sizes of old blobs, which always had four axes
DTYPES = {"double_data": np.dtype("<f8"), "data": np.dtype("<f4")}


def read_blob(path):
    """Reads the array in a .binaryproto file, local or a URI: float32, or float64 for doubles.

    Raises
    ------
    DataError
        If it cannot be read, is truncated, or is of another kind.
    """
    return array_of(parse_bytes(read_bytes(path), RAW["BlobProto"], path), path)


def write_blob(path, array):
    """Writes an array as a .binaryproto file, atomically."""
    files.write(path, as_bytes(blob_of(array), path))


def read_mean(path):
    """Reads a mean image (C, H, W) from a .binaryproto file of Caffe's compute_image_mean."""
    mean = read_blob(path)
    mean = mean[0] if mean.ndim == 4 and len(mean) == 1 else mean
    if mean.ndim != 3:
        raise DataError(
            f"{path}: a mean must have shape (channels, height, width), got {mean.shape}"
        )
    return mean


def write_mean(path, mean):
    """Writes a mean image (C, H, W) as Caffe's compute_image_mean does."""
    blob = blob_of(mean)
    blob.ClearField("shape")
    for side, size in zip(SIDES, (1, *mean.shape), strict=True):
        setattr(blob, side, size)
    files.write(path, as_bytes(blob, path))


def array_of(blob, where):
    """Converts a BlobProto (of RAW) to an array; raises DataError, with `where`, if invalid."""
    shape, content, dtype = shape_of(blob), *numbers_of(blob)
    if not is_whole(shape, content, dtype):
        content, dtype = numbers_of(repack_numbers(blob, where))
    if not is_whole(shape, content, dtype):
        count = len(content) / dtype.itemsize
        raise DataError(
            f"{where}: a blob of shape {shape} must have as many numbers, got {count:g}"
        )
    try:
        return np.frombuffer(content, dtype).reshape(shape)
    except ValueError:  # nothing, but with absurd axes
        raise DataError(f"{where}: a blob must have the shape of an array, got {shape}") from None


def numbers_of(blob):
    """Returns (the packed numbers as bytes, their dtype) of a BlobProto of RAW."""
    kind = "double_data" if blob.double_data else "data"
    return b"".join(getattr(blob, kind)), DTYPES[kind]


def repack_numbers(blob, where):
    """Returns the BlobProto with its numbers packed, if they were stored one by one."""
    try:
        exact = MESSAGES["BlobProto"].FromString(blob.SerializeToString())
    except DecodeError as error:
        raise DataError(f"{where}: the numbers of a blob must be whole ({error})") from error
    return type(blob).FromString(exact.SerializeToString())


def is_whole(shape, content, dtype):
    return min(shape, default=0) >= 0 and len(content) == dtype.itemsize * prod(shape)


def shape_of(blob):
    if any(blob.HasField(side) for side in SIDES):
        return tuple(getattr(blob, side) for side in SIDES)
    return tuple(blob.shape.dim)


def blob_of(array):
    """Converts an array to a BlobProto (of RAW): float64 as doubles, other types as float32."""
    array = np.asarray(array)
    kind = "double_data" if array.dtype == np.float64 else "data"
    blob = RAW["BlobProto"]()
    blob.shape.dim.extend(array.shape)
    if array.size:
        getattr(blob, kind).append(array.astype(DTYPES[kind]).tobytes())
    return blob


def add_blobs(field, arrays, path):
    """Adds arrays as blobs to a repeated field; raises DataError if they are too large."""
    blobs = list(map(blob_of, arrays))
    with within_limit(path):
        field.extend(blobs)
