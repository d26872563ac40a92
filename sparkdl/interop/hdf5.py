"""Safe access to untrusted HDF5 files, limited to the size of the file."""

import io
import re
import struct
from contextlib import contextmanager
from math import prod

import h5py
import numpy as np

from sparkdl.data.readers.ndarray.hdf5 import hdf5_file
from sparkdl.errors import DataError

DEFLATED = 1032  # largest expansion factor of deflate
TEXTS = re.compile(rb"\x19..\x00\x10\x00\x00\x00", re.DOTALL)  # datatype of variable-length texts
TYPE, NAMES = 20, 256  # size of that datatype in a file, and longest attribute name considered


@contextmanager
def open_untrusted_hdf5(content, path):
    """Opens a file from its contents; any error of the library is a DataError."""
    check_heaps(content, path)
    with hdf5_file(io.BytesIO(content), path) as file:
        yield file


@contextmanager
def create_hdf5():
    """Yields (buffer for the contents, file to write to)."""
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        yield content, file


def inner(group, key, path, system):
    """Returns the member of a group; refuses soft and external links."""
    if not isinstance(group, h5py.Group) or key not in group:
        raise DataError(f"{path}: must be of {system}, got an HDF5 file without {key!r}")
    if not isinstance(group.get(key, getlink=True), h5py.HardLink):
        raise DataError(f"{path}: {key!r} must lie in the file itself, got a link")
    return group[key]


def check_heaps(content, path):
    """Raises DataError for damaged heaps of variable-length texts, and texts with false lengths.

    The library would loop forever on the former, and allocate memory for the latter.
    """
    for match in re.finditer(rb"GCOL\x01", content):
        start = match.start()
        if struct.pack("<Q", start) not in content:
            continue  # unreferenced: other data that looks like a heap
        sizes = heap_sizes(content, start)
        if sizes is None or not are_sound_texts(content, start, sizes):
            raise DataError(f"{path}: cannot be read as HDF5: a heap of texts is damaged")
    if any(length > len(content) for length in lengths_of_texts(content)):
        raise DataError(f"{path}: cannot be read as HDF5: an attribute has texts beyond the file")


def lengths_of_texts(content):
    """Yields the lengths of attribute texts, for which the library allocates memory unchecked."""
    for match in TEXTS.finditer(content):
        for start, count in data_of_attribute(content, match.start()):
            for i in range(min(count, max(len(content) - start, 0) // 16)):
                yield struct.unpack_from("<I", content, start + 16 * i)[0]


def data_of_attribute(content, place):
    """Yields (offset, number of texts) of version 1 attributes whose datatype is at `place`."""
    for size in range(1, min(NAMES, place - 8)):
        header = place - 8 - padded(size)
        if header < 0 or struct.unpack_from("<BxHH", content, header) != (1, size, TYPE):
            continue
        space = place + padded(TYPE)
        rank = content[space + 1] if space + 1 < len(content) else 0
        dims = content[space + 8 : space + 8 + 8 * rank]
        count = prod(number for (number,) in struct.iter_unpack("<Q", dims[: len(dims) // 8 * 8]))
        yield space + padded(struct.unpack_from("<H", content, header + 6)[0]), count


def padded(size):
    return (size + 7) // 8 * 8


def heap_sizes(content, start):
    """Returns {number: size in bytes} of a heap's objects; None if they exceed the heap."""
    if start + 16 > len(content):
        return None
    (length,) = struct.unpack_from("<Q", content, start + 8)
    at, end, sizes = start + 16, start + length, {}
    if end > len(content):
        return None
    while at + 16 <= end:
        number, size = struct.unpack_from("<H6xQ", content, at)
        # The size of object 0, the free space, includes its header.
        step = 16 + (size + 7) // 8 * 8 if number else size
        if not 16 <= step <= end - at:
            return None
        sizes[number] = size
        at += step
    return sizes


def are_sound_texts(content, start, sizes):
    """Returns whether no reference to a heap (length, address, number) exceeds its object."""
    address, at = struct.pack("<Q", start), -1
    while (at := content.find(address, at + 1)) >= 0:
        if 4 <= at <= len(content) - 12:
            length, number = struct.unpack_from("<I8xI", content, at - 4)
            if number and length > sizes.get(number, length):
                return False
    return True


def array_in(dataset, where):
    """Returns the numbers of a dataset, after checking that the file can hold them."""
    if dataset.dtype.kind != "f" or dataset.dtype.itemsize not in (4, 8):
        raise DataError(f"{where}: blobs must be float32 or float64, got {dataset.dtype}")
    if dataset.is_virtual or dataset.external:
        raise DataError(f"{where}: blobs must lie in the file itself, got another file's")
    held = dataset.id.get_storage_size() * (DEFLATED if dataset.compression else 1)
    if dataset.shape is None or dataset.nbytes > held:
        raise DataError(f"{where}: a blob of shape {dataset.shape} has {held} bytes in the file")
    array = dataset[()]
    return np.asarray(array, array.dtype.newbyteorder("="))
