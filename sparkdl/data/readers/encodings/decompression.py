"""Decompression with bounds on the size of the output.

A compressed megabyte can hold gigabytes of zeros. The output is limited to ten times the input plus
64 MB, beyond which there is a ValueError, so an untrusted file cannot exhaust an executor's memory.
"""

import bz2
import lzma
import sys
import zlib
from types import ModuleType
from typing import Any

SMALL, RATIO = 64 << 20, 10
RAW_DEFLATE, GZIP = -15, 31  # zlib's codes for formats


def room(nbytes: int) -> int:
    """Returns how many bytes `nbytes` of input may expand to."""
    return SMALL + RATIO * nbytes


def inflate(content):
    """Decompresses a zlib stream."""
    return _members(zlib.decompressobj, content)


def inflate_raw(content):
    """Decompresses a deflate stream without a header."""
    return _members(lambda: zlib.decompressobj(RAW_DEFLATE), content, several=False)


def gunzip(content):
    """Decompresses the members of a gzip file."""
    return _members(lambda: zlib.decompressobj(GZIP), content)


def bunzip2(content):
    """Decompresses bzip2 streams."""
    return _members(bz2.BZ2Decompressor, content)


def unxz(content):
    """Decompresses xz streams."""
    return _members(lzma.LZMADecompressor, content)


def unzstd(content):
    """Decompresses zstandard frames."""
    return _members(_zstd().ZstdDecompressor, content)


def snappy_size(content):
    """Returns the uncompressed size stated in a raw snappy block."""
    size = 0
    for place, byte in enumerate(content[:5]):
        size |= (byte & 127) << 7 * place
        if byte < 128:
            return size
    raise ValueError("a snappy block begins with its length")


def check_room(size: int, nbytes: int) -> None:
    """Raises ValueError if `nbytes` claim to expand to more than allowed."""
    if size > room(nbytes):
        raise ValueError(f"{nbytes} bytes must decompress to at most {room(nbytes)}, got {size}")


def _members(new: Any, content: bytes, several: bool = True) -> bytes:
    """Decompresses all members of the content, each with a new decompressor."""
    pieces, left = [], room(len(content))
    while True:
        one = new()
        piece = one.decompress(content, left + 1)  # one more byte, to detect excess
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise ValueError(
                f"{len(content)} bytes must decompress to at most {room(len(content))}"
            )
        if not one.eof:
            raise EOFError("it is truncated")
        content = one.unused_data
        if not (several and content):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _zstd() -> ModuleType:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise ValueError("the codec zstandard needs the package backports.zstd") from None
    return zstd
