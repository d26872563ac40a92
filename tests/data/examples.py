"""TFRecords built by hand, with a checksum implementation of our own."""

import struct

import numpy as np

from tests.support.protobuf import field, varint

POLYNOMIAL = 0x82F63B78  # the CRC-32C polynomial, bits reversed


def remainder(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


REMAINDERS = [remainder(byte) for byte in range(256)]


def masked_crc(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ REMAINDERS[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(content):
    length = struct.pack("<Q", len(content))
    checks = [struct.pack("<I", masked_crc(part)) for part in (length, content)]
    return length + checks[0] + content + checks[1]


def of_bytes(*values):
    return field(1, b"".join(field(1, value) for value in values))


def of_floats(values, packed=True):
    packs = [struct.pack("<f", value) for value in values]
    return field(2, field(1, b"".join(packs)) if packed else b"".join(b"\x0d" + p for p in packs))


def of_ints(values, packed=True):
    packs = [varint(int(value) % 2**64) for value in values]
    return field(3, field(1, b"".join(packs)) if packed else b"".join(b"\x08" + p for p in packs))


def example_of(**features):
    """An Example of features that the functions above made."""
    entries = [field(1, name.encode()) + field(2, value) for name, value in features.items()]
    return field(1, b"".join(field(1, entry) for entry in entries))


def example(x, y):
    return example_of(features=of_bytes(np.asarray(x).tobytes()), label=of_ints([y]))
