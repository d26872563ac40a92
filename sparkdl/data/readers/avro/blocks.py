"""Records of a part of an Avro file: a header and blocks, each with a marker behind it.

References
----------
Apache Avro 1.12 specification, Object Container Files.
"""

from contextlib import contextmanager

import fastavro

from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.file_window import FileWindow
from sparkdl.errors import DataError

MAGIC, MARKER = b"Obj\x01", 16


class AvroStream:
    """A file that fastavro reads: a FileWindow, which may be exchanged for another."""

    def __init__(self, window):
        self.window = window

    def read(self, count):
        return self.window.take(count)

    def tell(self):
        return self.window.position


def open_blocks(path, file):
    """Returns (AvroStream, fastavro's reader of blocks) behind the header of a file. Raises
    DataError.
    """
    source = AvroStream(FileWindow(file, 0))
    with convert_errors(path):
        head = source.window.ahead(len(MAGIC))
        if head != MAGIC:
            raise Violation(
                0, f"must be one of Avro and begin with {MAGIC!r}, but begins with {head!r}"
            )
        return source, fastavro.block_reader(source)


def records(split, file, source, blocks):
    """Yields the dicts of all blocks whose preceding marker begins in the split's bytes.

    Raises
    ------
    DataError
        The file is cut short or damaged.
    """
    first, count = source.tell() - MARKER, 0
    file.seek(first)
    marker = file.read(MARKER)
    window = source.window = FileWindow(file, max(first, split.start))
    if not window.seek(marker, split.stop):
        return
    window.take(MARKER)
    while window.position - MARKER < split.stop and window.more():
        with convert_errors(f"{split}, after {count} records"):
            block = list(next(blocks))
        yield from block
        count += len(block)


@contextmanager
def convert_errors(where):
    """Blames an error raised here on the file, whatever fastavro and its codecs raise."""
    try:
        yield
    except Violation as offence:
        raise DataError(f"{where}: the file {offence}") from None
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise DataError(f"{where}: the file cannot be read as Avro: {reason}") from error
