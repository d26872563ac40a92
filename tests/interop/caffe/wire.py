"""The form of protobuf's files written by hand, to check what reads and writes them against."""

import struct

from tests.support.protobuf import field, varint


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def doubles(*numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


def single(number, value):
    """A float that stands by itself, as a field that is not packed has it."""
    return varint(number << 3 | 5) + floats(value)


def shape(*sizes):
    """Field 7 of a BlobProto."""
    return field(7, field(1, b"".join(map(varint, sizes))))


def legacy(num, channels, height, width):
    """Fields 1 to 4 of a BlobProto."""
    return b"".join(field(i + 1, n) for i, n in enumerate((num, channels, height, width)))
