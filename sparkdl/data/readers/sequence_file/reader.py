"""Parser of the records in a part of a SequenceFile."""

import zlib

from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.file_window import FileWindow
from sparkdl.data.readers.encodings.hadoop_format import (
    CODECS,
    ESCAPE,
    SYNC_BYTES,
    deserialize,
    get_vint,
)

MARKER = len(ESCAPE) + SYNC_BYTES
DAMAGES = (ValueError, OSError, EOFError, zlib.error)  # errors of decompressors


def read_records(file, header, start, stop):
    """Yields (key, value) of the records after sync markers in [start, stop) of a file.

    With start 0, records before the first marker are included. Raises Violation if the file is
    truncated or damaged.
    """
    window = FileWindow(file, header.size if start == 0 else max(start, header.size))
    if start > 0 and not window.seek(ESCAPE + header.sync, stop):
        return
    read = _block if header.compression == "block" else _record
    while window.more():
        if window.ahead(len(ESCAPE)) == ESCAPE:
            if window.position >= stop:
                return
            if window.take(MARKER)[len(ESCAPE) :] != header.sync:
                raise Violation(0, "is damaged: a sync marker differs from that of the header")
            if not window.more():
                return
        yield from read(window, header)


def _record(window, header):
    size, key_size = window.int(), window.int()
    if not 0 <= key_size <= size:
        raise Violation(0, f"is damaged: a record of {size} bytes has a key of {key_size}")
    key, value = window.take(key_size), window.take(size - key_size)
    if header.compression == "record":
        value = _decompress(header, value)
    yield deserialize(header.key, key), deserialize(header.value, value)


def _block(window, header):
    count = window.vint()
    parts = [_decompress(header, window.take(window.vint())) for _ in range(4)]
    keys = _split_content(parts[1], parts[0], count)
    values = _split_content(parts[3], parts[2], count)
    for key, value in zip(keys, values, strict=True):
        yield deserialize(header.key, key), deserialize(header.value, value)


def _split_content(content, lengths, count):
    """Cuts `content` into `count` pieces whose lengths are vints."""
    pieces, at, place = [], 0, 0
    try:
        for _ in range(count):
            length, place = get_vint(lengths, place)
            pieces.append(content[at : at + length])
            at += length
    except IndexError:
        raise Violation(0, "is damaged: a block holds fewer records than it says") from None
    if at != len(content):
        raise Violation(0, f"is damaged: a block holds {len(content)} bytes, and says {at}")
    return pieces


def _decompress(header, content):
    try:
        return CODECS[header.codec][1](content)
    except DAMAGES as error:
        raise Violation(0, f"is damaged: {header.codec} cannot decompress it: {error}") from None
