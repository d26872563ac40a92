"""Protobuf messages encoded by hand, to check readers and writers against."""

import struct

from tests.support.protobuf import field, varint


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def doubles(*numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


def single(number, value):
    """Returns a float as an element of an unpacked field."""
    return varint(number << 3 | 5) + floats(value)


def shape(*sizes):
    """Returns field 7 of a BlobProto."""
    return field(7, field(1, b"".join(map(varint, sizes))))


def legacy(num, channels, height, width):
    """Returns fields 1 to 4 of a BlobProto."""
    return b"".join(field(i + 1, n) for i, n in enumerate((num, channels, height, width)))
