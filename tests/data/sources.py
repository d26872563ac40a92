"""Every source of files, with independent functions that write and read its files."""

import csv
import gzip
import io
import math
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import fastavro
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparkdl.data import (
    HDF5,
    AvroFiles,
    Batch,
    Csv,
    Parquet,
    SequenceFiles,
    TFRecords,
    files,
    write_sequence_file,
)
from tests.data.examples import example, tfrecord


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A source of files and its independent encoder and decoder.

    Parameters
    ----------
    source : callable (path) -> Source
    small : dict
        Options that make many splits of small files.
    encode : callable (x, y) -> bytes of a file of uint8 records (n, 3, 4, 5) and labels (n,)
    decode : callable (bytes) -> x, y, by another reader than ours
    ending : str
        End of the files' names.
    options : dict
        Fields of the source, as in a configuration, all but `path` other than their defaults.
    """

    source: Callable
    encode: Callable
    decode: Callable
    ending: str
    small: dict
    options: dict


def records(count):
    rng = np.random.default_rng(count)
    return rng.integers(0, 256, (count, 3, 4, 5)).astype(np.uint8), rng.integers(0, 10, count)


def read(source):
    """Returns all records of a source in one Batch."""
    return Batch.concat([batch for split in source.splits() for batch in source.read(split)])


def write(path, content):
    with files.open(path, "wb") as file:
        file.write(content)
    return str(path)


def encode_csv(x, y):
    names = ",".join([f"x{i}" for i in range(60)] + ["label"])
    rows = [",".join(map(str, [*one.ravel().tolist(), label])) for one, label in zip(x, y)]
    return "".join(f"{row}\n" for row in [names, *rows]).encode()


def decode_csv(content):
    rows = list(csv.reader(io.StringIO(content.decode())))[1:]
    numbers = np.array(rows, float).reshape(-1, 61)
    return numbers[:, :60], numbers[:, 60]


def encode_parquet(x, y):
    file = io.BytesIO()
    table = pa.table({"features": [one.tobytes() for one in x], "label": y})
    pq.write_table(table, file, row_group_size=max(3, len(y) // 20))
    return file.getvalue()


def decode_parquet(content):
    frame = pq.read_table(pa.BufferReader(content)).to_pandas()
    return np.array(
        [np.frombuffer(one, np.uint8) for one in frame.features]
    ), frame.label.to_numpy()


def encode_hdf5(x, y):
    file = io.BytesIO()
    with h5py.File(file, "w") as out:
        out["data"], out["label"] = x, y.astype(np.float32)  # the type of Caffe's labels
    return file.getvalue()


def decode_hdf5(content):
    """Reads contiguous datasets from the file's bytes."""
    with h5py.File(io.BytesIO(content), "r") as file:
        places = {name: (one.id.get_offset(), one.shape) for name, one in file.items()}
    (at, shape), (labels, (count,)) = places["data"], places["label"]
    x = np.frombuffer(content, np.uint8, math.prod(shape), at).reshape(shape)
    return x, np.frombuffer(content, "<f4", count, labels)


def encode_tfrecords(x, y):
    return b"".join(map(tfrecord, map(example, x, y)))


def decode_tfrecords(content):
    """Reads records of `example` whose images have fewer than 128 bytes."""
    at, x, y = 0, [], []
    while at < len(content):
        (size,) = struct.unpack_from("<Q", content, at)
        record = content[at + 12 : at + 12 + size]
        image = record.index(b"features\x12") + 9 + 5
        x.append(list(record[image : image + 60]))
        y.append(record[-1])
        at += 16 + size
    return np.array(x), np.array(y)


def encode_avro(x, y):
    file = io.BytesIO()
    kinds = {"features": "bytes", "label": "int"}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = {"type": "record", "name": "example", "fields": fields}
    pairs = [{"features": one.tobytes(), "label": int(label)} for one, label in zip(x, y)]
    fastavro.writer(file, schema, pairs, sync_interval=100)
    return file.getvalue()


def decode_avro(content):
    """Reads blocks of fewer than 64 records of 62 bytes: 60 bytes of image, a label below 64."""
    _, *blocks = content.split(content[-16:])
    records = [block[-62 * (block[0] // 2) :] for block in blocks[:-1]]
    rows = np.frombuffer(b"".join(records), np.uint8).reshape(-1, 62)
    return rows[:, 1:61], rows[:, 61] // 2


def sequence_encoder(**options):
    def encode(x, y):
        pairs = [(f"{i} {label}", one.tobytes()) for i, (one, label) in enumerate(zip(x, y))]
        write_sequence_file("memory://written/a", pairs, **options)
        with files.open("memory://written/a") as file:
            return file.read()

    return encode


def decode_sequence(decompress, header):
    """Returns a decoder of files of Text and BytesWritable with short keys and few records."""

    def decode(content):
        at, x, y = header, [], []
        while at < len(content):
            size, key = struct.unpack_from(">ii", content, at)
            y.append(int(content[at + 9 : at + 8 + key].split()[1]))
            x.append(list(decompress(content[at + 8 + key : at + 8 + size])[4:]))
            at += 8 + size
        return np.array(x), np.array(y)

    return decode


def decode_sequence_block(content):
    """Reads the only block of such a file, compressed with zlib."""
    at = content.index(b"\0\0\0\0") + 4 + 16 + 20 + 1
    parts = []
    while at < len(content):
        at = content.index(b"\x78\x9c", at)  # skips the compressed length
        inflate = zlib.decompressobj()
        parts.append(inflate.decompress(content[at:]))
        at = len(content) - len(inflate.unused_data)
    x = np.frombuffer(parts[3], np.uint8).reshape(-1, 64)[:, 4:]
    keys = re.split(rb"[\x03-\x06](?=\d+ )", parts[1])[1:]
    return x, [int(key.split()[1]) for key in keys]


KINDS = {
    "AvroFiles": Kind(
        source=AvroFiles,
        encode=encode_avro,
        decode=decode_avro,
        ending=".avro",
        small={"bytes_per_split": 300},
        options={"features": "x", "label": None, "content": "images", "size": (3, 4)},
    ),
    "Csv": Kind(
        source=Csv,
        encode=encode_csv,
        decode=decode_csv,
        ending=".csv",
        small={"bytes_per_split": 300},
        options={"label": -1, "header": False, "delimiter": ";"},
    ),
    "Parquet": Kind(
        source=Parquet,
        encode=encode_parquet,
        decode=decode_parquet,
        ending=".parquet",
        small={},
        options={"features": "x", "label": None},
    ),
    "SequenceFiles": Kind(
        source=partial(SequenceFiles, content="bytes"),
        encode=sequence_encoder(),
        decode=decode_sequence(bytes, header=4 + 26 + 35 + 2 + 4 + 16),
        ending=".seq",
        small={"bytes_per_split": 300},
        options={"content": "images", "channels": "BGR", "size": (3, 4)},
    ),
    "SequenceFiles of records": Kind(
        source=partial(SequenceFiles, content="bytes"),
        encode=sequence_encoder(compression="record", codec="GzipCodec"),
        decode=decode_sequence(gzip.decompress, header=4 + 26 + 35 + 2 + 40 + 4 + 16),
        ending=".seq",
        small={"bytes_per_split": 300},
        options={"content": "datums"},
    ),
    "SequenceFiles of blocks": Kind(
        source=partial(SequenceFiles, content="bytes"),
        encode=sequence_encoder(compression="block"),
        decode=decode_sequence_block,
        ending="",
        small={"bytes_per_split": 300},
        options={"label": False},
    ),
    "TFRecords": Kind(
        source=TFRecords,
        encode=encode_tfrecords,
        decode=decode_tfrecords,
        ending=".tfrecord",
        small={},
        options={"features": "image/encoded", "label": None, "content": "images", "size": (3, 4)},
    ),
    "HDF5": Kind(
        source=HDF5,
        encode=encode_hdf5,
        decode=decode_hdf5,
        ending=".h5",
        small={"records_per_split": 4},
        options={"features": "x", "label": None},
    ),
}
