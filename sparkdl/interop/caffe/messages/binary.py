"""Binary files of Caffe with one message each."""

import os
from contextlib import contextmanager

from google.protobuf.message import DecodeError, EncodeError

from sparkdl.data.whole_files import read_whole
from sparkdl.errors import DataError

HDF5 = b"\x89HDF\r\n\x1a\n"  # magic number of HDF5 files


def is_hdf5(path):
    """Returns whether a file is to be written as HDF5, by its name, as in Caffe."""
    return os.fspath(path).endswith(".h5")


def read_bytes(path):
    """Reads a whole file, local or a URI."""
    return read_whole(path)


def parse_bytes(content, kind, path):
    """Parses `content`, read from `path`, as a message of class `kind`.

    Raises
    ------
    DataError
        If it is truncated, or of another kind. Truncation between two fields cannot be detected.
    """
    what = f"{path}: must be a {kind.DESCRIPTOR.name} of Caffe in binary form"
    try:
        message = kind.FromString(content)
    except DecodeError as error:
        raise DataError(
            f"{what}, got {len(content)} bytes that are truncated or of another type ({error})"
        ) from None
    if not message.ListFields():
        raise DataError(f"{what}, got {len(content)} bytes without any of its fields")
    return message


def as_bytes(message, path):
    """Serializes a message; raises DataError if it is too large."""
    with within_limit(path):
        return message.SerializeToString()


@contextmanager
def within_limit(path):
    """Turns protobuf's error of too large a message into a DataError.

    Protobuf also raises it where a message becomes a part of another.
    """
    try:
        yield
    except (EncodeError, ValueError) as error:
        limit = "messages end at 2 GB; write HDF5, to a path that ends in .h5"
        raise DataError(f"{path}: cannot be written, {limit} ({error})") from error
