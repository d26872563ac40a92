"""What was compressed, decompressed to a size that follows from what went in.

A megabyte can hold gigabytes of zeros. Whoever reads it gets at most ten times as much and 64 MB,
or a ValueError; so no file of others takes the memory of an executor.
"""

import bz2
import lzma
import sys
import zlib
from types import ModuleType
from typing import Any

SMALL, RATIO = 64 << 20, 10
RAW_DEFLATE, GZIP = -15, 31  # zlib's numbers for formats


def room(nbytes: int) -> int:
    """Returns how many bytes may come out of so many."""
    return SMALL + RATIO * nbytes


def inflate(content):
    """Returns the bytes of a zlib stream."""
    return _members(zlib.decompressobj, content)


def inflate_raw(content):
    """Returns the bytes of a deflate stream without a header."""
    return _members(lambda: zlib.decompressobj(RAW_DEFLATE), content, several=False)


def gunzip(content):
    """Returns the bytes of gzip's members."""
    return _members(lambda: zlib.decompressobj(GZIP), content)


def bunzip2(content):
    """Returns the bytes of bzip2 streams."""
    return _members(bz2.BZ2Decompressor, content)


def unxz(content):
    """Returns the bytes of xz streams."""
    return _members(lzma.LZMADecompressor, content)


def unzstd(content):
    """Returns the bytes of zstandard frames."""
    return _members(_zstd().ZstdDecompressor, content)


def snappy_size(content):
    """Returns how many bytes a raw snappy block says it holds."""
    size = 0
    for place, byte in enumerate(content[:5]):
        size |= (byte & 127) << 7 * place
        if byte < 128:
            return size
    raise ValueError("a snappy block begins with its length")


def check_room(size: int, nbytes: int) -> None:
    """Raises ValueError where `nbytes` claim to hold more than may come out of them."""
    if size > room(nbytes):
        raise ValueError(f"{nbytes} bytes must hold at most {room(nbytes)}, got {size}")


def _members(new: Any, content: bytes, several: bool = True) -> bytes:
    """Returns what one decompressor after the other makes of the content."""
    pieces, left = [], room(len(content))
    while True:
        one = new()
        piece = one.decompress(content, left + 1)  # one more, so that too many are noticed
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise ValueError(f"{len(content)} bytes must hold at most {room(len(content))}")
        if not one.eof:
            raise EOFError("it ends too early")
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
