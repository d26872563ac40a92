"""Encodes fields of protobuf messages by hand."""

from numbers import Integral


def field(number, content):
    """Encodes a field: bytes and text with their length, integers as varints."""
    if isinstance(content, Integral):
        return varint(number << 3) + varint(int(content))
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number):
    """Encodes seven bits per byte, lowest first; negative numbers as 64 bits."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
