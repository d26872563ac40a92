"""Elements of Hadoop's SequenceFile format: numbers, Writables, codecs, the header.

References
----------
Hadoop's documentation of org.apache.hadoop.io.SequenceFile, version 6, and of WritableUtils.
"""

import bz2
import gzip
import struct
import zlib
from dataclasses import dataclass

from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.decompression import bunzip2, gunzip, inflate

MAGIC, VERSION = b"SEQ", 6
ESCAPE = b"\xff\xff\xff\xff"  # length -1: a sync marker follows
SYNC_BYTES = 16
INT, LONG = struct.Struct(">i"), struct.Struct(">q")
HADOOP = "org.apache.hadoop.io."
CODECS = {  # {name: (compress, decompress)}
    "DefaultCodec": (zlib.compress, inflate),
    "DeflateCodec": (zlib.compress, inflate),
    "GzipCodec": (gzip.compress, gunzip),
    "BZip2Codec": (bz2.compress, bunzip2),
}
FIXED = {
    "IntWritable": INT,
    "LongWritable": LONG,
    "FloatWritable": struct.Struct(">f"),
    "DoubleWritable": struct.Struct(">d"),
}
WRITABLES = ("Text", "BytesWritable", "NullWritable", *FIXED)


@dataclass(frozen=True, kw_only=True)
class SequenceHeader:
    """The header of a SequenceFile.

    Parameters
    ----------
    key, value : str
        Names of Writables in org.apache.hadoop.io.
    compression : "none", "record" or "block"
    codec : str or None
        One of CODECS.
    sync : bytes
        Marker inserted between records at intervals.
    size : int
        Bytes of the header.
    """

    key: str
    value: str
    compression: str
    codec: str | None
    sync: bytes
    size: int = 0

    def encode(self):
        """Returns the bytes of the header; `size` is ignored."""
        classes = text(HADOOP + self.key) + text(HADOOP + self.value)
        flags = bytes([self.compression != "none", self.compression == "block"])
        codec = text(f"{HADOOP}compress.{self.codec}") if self.codec else b""
        return MAGIC + bytes([VERSION]) + classes + flags + codec + INT.pack(0) + self.sync


def read_header(content):
    """Parses the SequenceHeader at the start of `content`.

    Raises Violation if the file is not supported.
    """
    if content[:3] != MAGIC or len(content) < 4:
        raise Violation(0, f"must be a SequenceFile, but begins with {bytes(content[:4])!r}")
    if content[3] != VERSION:
        raise Violation(0, f"must be a SequenceFile of version {VERSION}, got {content[3]}")
    try:
        return _header(content)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise Violation(0, "is cut short, or its header is damaged") from None


def _header(content):
    key, at = get_text(content, 4)
    value, at = get_text(content, at)
    compressed, blocks, at = content[at], content[at + 1], at + 2
    codec = None
    if blocks and not compressed:
        raise Violation(0, "is damaged: it says that blocks are compressed, and nothing is")
    if compressed:
        codec, at = get_text(content, at)
        codec = require_known(codec.removeprefix(f"{HADOOP}compress."), CODECS, "codec")
    (pairs,), at = INT.unpack_from(content, at), at + INT.size
    for _ in range(2 * pairs):
        _, at = get_text(content, at)
    sync, at = bytes(content[at : at + SYNC_BYTES]), at + SYNC_BYTES
    if len(sync) < SYNC_BYTES:
        raise IndexError
    return SequenceHeader(
        key=require_known(key.removeprefix(HADOOP), WRITABLES, "keys"),
        value=require_known(value.removeprefix(HADOOP), WRITABLES, "values"),
        compression="block" if blocks else "record" if compressed else "none",
        codec=codec,
        sync=sync,
        size=at,
    )


def require_known(name, names, what):
    if name not in names:
        raise Violation(0, f"{what} must be one of {', '.join(names)}, got {name}")
    return name


def vint(n):
    """Encodes an int as WritableUtils.writeVLong does."""
    if -112 <= n <= 127:
        return struct.pack("b", n)
    positive = n if n >= 0 else ~n
    size = (positive.bit_length() + 7) // 8
    return struct.pack("b", (-112 if n >= 0 else -120) - size) + positive.to_bytes(size, "big")


def get_vint(content, at):
    """Returns (int, position after it). Raises IndexError at the end."""
    first = content[at] - 256 if content[at] > 127 else content[at]
    if first >= -112:
        return first, at + 1
    negative = first < -120
    end = at + 1 + (-120 if negative else -112) - first
    if end > len(content):
        raise IndexError
    n = int.from_bytes(content[at + 1 : end], "big")
    return (~n if negative else n), end


def text(value):
    """Encodes a str as Text does."""
    encoded = value.encode()
    return vint(len(encoded)) + encoded


def get_text(content, at):
    size, at = get_vint(content, at)
    if size < 0 or at + size > len(content):
        raise IndexError
    return bytes(content[at : at + size]).decode(), at + size


def serialize(kind, value):
    """Serializes a str, bytes, None or number as a Writable. Raises Violation for others."""
    try:
        return _serialize(kind, value)
    except (AttributeError, TypeError, UnicodeEncodeError, OverflowError, struct.error):
        raise Violation(0, f"must be what a {kind} holds, got {value!r:.80}") from None


def _serialize(kind, value):
    if kind == "Text":
        return text(value)
    if kind == "BytesWritable":
        return INT.pack(len(value)) + value
    if kind != "NullWritable":
        return FIXED[kind].pack(value)
    if value is not None:
        raise TypeError
    return b""


def deserialize(kind, content):
    """Parses a Writable into a str, bytes, None or a number. Raises Violation."""
    try:
        if kind == "Text":
            size, at = get_vint(content, 0)
            return _whole(content, at, size).decode()
        if kind == "BytesWritable":
            return _whole(content, INT.size, *INT.unpack_from(content))
        return None if kind == "NullWritable" else FIXED[kind].unpack(content)[0]
    except (IndexError, struct.error, UnicodeDecodeError):
        raise Violation(0, f"must hold a {kind}, got {bytes(content[:16])!r}") from None


def _whole(content, at, size):
    if at + size != len(content):
        raise IndexError
    return bytes(content[at:])
