"""Records of a part of an Avro file, which has a header and blocks, each followed by a marker.

Files are untrusted: data is decompressed here within bounds, and fastavro, which decodes records in
C, only gets uncompressed blocks with a checked schema.

References
----------
Apache Avro 1.12 specification, Object Container Files.
"""

import io
import json
from contextlib import contextmanager

import fastavro

from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.avro.schemas import check_schema
from sparkdl.data.readers.encodings import decompression
from sparkdl.data.readers.encodings.file_window import FileWindow
from sparkdl.errors import DataError, count_of, text_of

MAGIC, MARKER = b"Obj\x01", 16
META = {"type": "map", "values": "bytes"}
NUMBER = "long"
CODECS = {  # decompressed here; fastavro gets snappy blocks unchanged
    "null": bytes,
    "deflate": decompression.inflate_raw,
    "bzip2": decompression.bunzip2,
    "xz": decompression.unxz,
    "zstandard": decompression.unzstd,
}


class AvroFile:
    """An open file: its schema, and its uncompressed blocks as a stream for fastavro."""

    def __init__(self, file):
        self.window = FileWindow(file, 0)
        head = self.window.ahead(len(MAGIC))
        if head != MAGIC:
            text = f"must be one of Avro and begin with {MAGIC!r}, but begins with {head!r}"
            raise Violation(0, text)
        self.window.take(len(MAGIC))
        meta = fastavro.schemaless_reader(WindowStream(self), META, META)
        self.first, self.marker = self.window.position, self.window.take(MARKER)
        self.codec = meta.get("avro.codec", b"null").decode()
        self.schema = fastavro.parse_schema(json.loads(meta["avro.schema"]))
        check_schema(self.schema)
        kept = b"null" if self.codec in CODECS else meta["avro.codec"]
        header = io.BytesIO(MAGIC)
        header.seek(0, io.SEEK_END)
        fastavro.schemaless_writer(header, META, meta | {"avro.codec": kept})
        self._served = io.BytesIO(header.getvalue() + self.marker)
        self._blocks = fastavro.block_reader(self._served)

    def next_block(self):
        """Returns the records of the next block, as dicts."""
        stream = WindowStream(self)
        count = fastavro.schemaless_reader(stream, NUMBER, NUMBER)
        content = self.window.take(fastavro.schemaless_reader(stream, NUMBER, NUMBER))
        marker = self.window.take(MARKER)
        content, size = self._plain(content)
        if count > size:
            raise ValueError(f"a block of {size} bytes says that it has {count} records")
        self._served.seek(0)
        self._served.truncate()
        for number in (count, len(content)):
            fastavro.schemaless_writer(self._served, NUMBER, number)
        self._served.write(content + marker)
        self._served.seek(0)
        return list(next(self._blocks))

    def _plain(self, content):
        """Returns (a block's contents for fastavro, uncompressed size in bytes)."""
        if self.codec in CODECS:
            content = CODECS[self.codec](content)
            return content, len(content)
        if self.codec != "snappy":
            raise ValueError(f"the codec must be snappy or one of {[*CODECS]}, got {self.codec!r}")
        size = decompression.snappy_size(content)
        decompression.check_room(size, len(content))
        return content, size


class WindowStream:
    """An AvroFile's window with the `read` method that fastavro calls."""

    def __init__(self, avro):
        self.avro = avro

    def read(self, count):
        return self.avro.window.take(count)


def open_blocks(path, file):
    """Reads a file's header and returns the AvroFile. Raises DataError."""
    with convert_errors(path):
        return AvroFile(file)


def records(split, file, avro):
    """Yields the records, as dicts, of all blocks whose preceding marker begins in the split.

    Raises
    ------
    DataError
        If the file is truncated or damaged.
    """
    count = 0
    window = avro.window = FileWindow(file, max(avro.first, split.start))
    if not window.seek(avro.marker, split.stop):
        return
    window.take(MARKER)
    while window.position - MARKER < split.stop and window.more():
        with convert_errors(f"{split}, after {count_of(count, 'record')}"):
            block = avro.next_block()
        yield from block
        count += len(block)


@contextmanager
def convert_errors(where):
    """Turns any error in the block, whatever fastavro raises, into a DataError on the file."""
    try:
        yield
    except Violation as offence:
        raise DataError(f"{where}: the file {offence}") from None
    except Exception as error:
        raise DataError(f"{where}: the file cannot be read as Avro: {text_of(error)}") from error
