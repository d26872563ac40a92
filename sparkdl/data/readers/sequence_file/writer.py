"""Writer of SequenceFiles."""

import os
from collections.abc import Iterable
from os import PathLike
from typing import Any

from sparkdl.data import files
from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.hadoop_format import (
    CODECS,
    ESCAPE,
    INT,
    SYNC_BYTES,
    WRITABLES,
    SequenceHeader,
    require_known,
    serialize,
    vint,
)
from sparkdl.errors import ConfigError, DataError

SYNC_INTERVAL = 100_000  # bytes
BLOCK = 1_000_000  # bytes of keys and values
COMPRESSIONS = ("none", "record", "block")


def write_sequence_file(
    path: str | PathLike[str],
    records: Iterable[Any],
    key: str = "Text",
    value: str = "BytesWritable",
    compression: str = "none",
    codec: str = "DefaultCodec",
) -> int:
    """Writes (key, value) pairs as a SequenceFile that Hadoop reads.

    Parameters
    ----------
    path : str
        A file, local or a URI.
    records : iterable of (key, value)
        str for Text, bytes for BytesWritable, None for NullWritable, numbers for others.
    key, value : str
        Names of Writables: Text, BytesWritable, NullWritable, IntWritable, LongWritable ...
    compression : "none", "record" or "block"
    codec : str
        DefaultCodec (zlib), GzipCodec or BZip2Codec.

    Returns
    -------
    int
        Records written.

    Raises
    ------
    DataError
        For the first key or value that its Writable does not hold.
    """
    header = _header(key, value, compression, codec)
    write = _write_blocks if compression == "block" else _write_records
    with files.open(path, "wb") as file:
        file.write(header.encode())
        return write(file, header, records)


def _header(key, value, compression, codec):
    try:
        return SequenceHeader(
            key=require_known(key, WRITABLES, "key"),
            value=require_known(value, WRITABLES, "value"),
            compression=require_known(compression, COMPRESSIONS, "compression"),
            codec=None if compression == "none" else require_known(codec, CODECS, "codec"),
            sync=os.urandom(SYNC_BYTES),
        )
    except Violation as offence:
        raise ConfigError(f"write_sequence_file: {offence}") from None


def _write_records(file, header, records):
    count = since = 0
    for key, value in _serialized(header, records):
        if since >= SYNC_INTERVAL:
            file.write(ESCAPE + header.sync)
            since = 0
        if header.codec:
            value = CODECS[header.codec][0](value)
        file.write(INT.pack(len(key) + len(value)) + INT.pack(len(key)) + key + value)
        since += len(key) + len(value)
        count += 1
    return count


def _write_blocks(file, header, records):
    keys, values, size, count = [], [], 0, 0
    for key, value in _serialized(header, records):
        keys.append(key)
        values.append(value)
        size += len(keys[-1]) + len(values[-1])
        count += 1
        if size >= BLOCK:
            _write_block(file, header, keys, values)
            keys, values, size = [], [], 0
    if keys:
        _write_block(file, header, keys, values)
    return count


def _serialized(header, records):
    """Yields the bytes of each key and value. Raises DataError."""
    for row, (key, value) in enumerate(records):
        try:
            pair = serialize(header.key, key), serialize(header.value, value)
        except Violation as offence:
            raise DataError(f"record {row}: {offence}") from None
        yield pair


def _write_block(file, header, keys, values):
    file.write(ESCAPE + header.sync + vint(len(keys)))
    for pieces in (keys, values):
        lengths = b"".join(vint(len(piece)) for piece in pieces)
        for content in (lengths, b"".join(pieces)):
            content = CODECS[header.codec][0](content)
            file.write(vint(len(content)) + content)
