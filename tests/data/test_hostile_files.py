"""Malicious files: each soon gives an error that names it, and makes no other file be read."""

import bz2
import gzip
import io
import json
import lzma
import struct
import zlib

import fastavro
import h5py
import lmdb
import numpy as np
import pytest

from sparkdl.data import HDF5, LMDB, AvroFiles, Idx, SequenceFiles, TFRecords, files
from sparkdl.data.readers.encodings import decompression
from sparkdl.data.readers.tfrecords import masked_crc
from sparkdl.errors import DataError
from tests.data.lmdbs import datum

ZEROS = 4 << 20  # bytes, which compress to very few


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr(decompression, "SMALL", 1 << 20)


def refused(source, match):
    with pytest.raises(DataError, match=match) as caught:
        for split in source.splits():
            for _ in source.read(split):
                pass
    return str(caught.value)


# Avro


def avro(schema, block=b"", count=1, codec="null"):
    """Returns the bytes of a file with one block."""
    meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
    file = io.BytesIO(b"Obj\x01")
    file.seek(4)
    fastavro.schemaless_writer(file, {"type": "map", "values": "bytes"}, meta)
    file.write(b"m" * 16)
    for number in (count, len(block)):
        fastavro.schemaless_writer(file, "long", number)
    return file.getvalue() + block + b"m" * 16


def record(*kinds, name="r"):
    fields = [{"name": f"f{i}", "type": kind} for i, kind in enumerate(kinds)]
    return {"type": "record", "name": name, "fields": fields}


def doubling(levels):
    """Returns a record of two records of two records ..., each defined once."""
    kind = "null"
    for i in range(levels):
        kind = record(kind, f"r{i - 1}" if i else "null", name=f"r{i}")
    return kind


LONG = b"\x80\x80\x80\x80\x80\x80\x01"  # 2**41 in zigzag
SCHEMAS = [
    ("a record in itself", record("r"), b"", "without recursive types, got r"),
    ("a list", record(["null", "r"]), b"\x02" * 1000, "without recursive types, got r"),
    ("an array", record({"type": "array", "items": "null"}), LONG, "items take at least one byte"),
    (
        "an array of records",
        record({"type": "array", "items": record("null", name="n")}),
        LONG,
        "items take at least one byte",
    ),
    ("records of nothing", record("null"), b"", "records of at least one byte"),
    ("doubling", record("int", doubling(40)), b"\0", "at most"),
    ("deep", record(*[json.loads('{"type": "map", "values": ' * 90 + '"int"' + "}" * 90)]), b"\0",
     "nest types at most 64 deep"),
]  # fmt: skip


@pytest.mark.parametrize("schema, block, message", [row[1:] for row in SCHEMAS],
                         ids=[row[0] for row in SCHEMAS])  # fmt: skip
def test_schemas_that_would_not_end_are_refused(tmp_path, schema, block, message):
    (tmp_path / "a").write_bytes(avro(schema, block))
    refused(AvroFiles(str(tmp_path / "a"), features="f0", label=None), f"a: the file .*{message}")


def test_a_block_of_more_records_than_bytes_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(avro(record("int"), b"\0", count=1 << 40))
    refused(AvroFiles(str(tmp_path / "a"), features="f0", label=None), "block of 1 bytes says")


def deflate(content):
    return zlib.compress(content)[2:-4]


PACKED = {"deflate": deflate, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("codec", PACKED)
def test_a_block_of_zeros_is_refused(tmp_path, little_room, codec):
    (tmp_path / "a").write_bytes(avro(record("bytes"), PACKED[codec](bytes(ZEROS)), codec=codec))
    refused(AvroFiles(str(tmp_path / "a"), features="f0", label=None), "must decompress to at most")


# Decompression


@pytest.mark.parametrize("pack, unpack", [
    (zlib.compress, decompression.inflate),
    (deflate, decompression.inflate_raw),
    (gzip.compress, decompression.gunzip),
    (bz2.compress, decompression.bunzip2),
    (lzma.compress, decompression.unxz),
], ids=["zlib", "deflate", "gzip", "bzip2", "xz"])  # fmt: skip
def test_what_comes_out_is_bounded_by_what_went_in(pack, unpack, monkeypatch):
    content = np.random.default_rng(0).bytes(10_000)
    assert unpack(pack(content)) == content
    monkeypatch.setattr(decompression, "SMALL", 1000)
    with pytest.raises(ValueError, match="must decompress to at most"):
        unpack(pack(bytes(1 << 20)))
    with pytest.raises((EOFError, ValueError, OSError, zlib.error)):
        unpack(pack(content)[:-9])


def test_members_of_gzip_come_one_after_the_other():
    packed = gzip.compress(b"one") + gzip.compress(b"two")
    assert decompression.gunzip(packed) == b"onetwo"


# IDX


def idx(shape, body=b"", code=8):
    return struct.pack(">HBB", 0, code, len(shape)) + struct.pack(f">{len(shape)}I", *shape) + body


SHAPES = [
    ((2**32 - 1,) * 4, "cut short", "at most"),
    ((10, 2**32 - 1, 2**32 - 1), "cut short", "at most"),
    ((5, 0, 28), "sizes of 1 or more", "sizes of 1 or more"),
    ((1,) * 255, "does not begin like one", "does not begin like one"),
    ((2**31,), "cut short", "cut short"),
]


@pytest.mark.parametrize("shape, plain, zipped", SHAPES)
def test_absurd_shapes_are_refused(tmp_path, shape, plain, zipped):
    (tmp_path / "a").write_bytes(idx(shape))
    (tmp_path / "a.gz").write_bytes(gzip.compress(idx(shape)))
    refused(Idx(str(tmp_path / "a")), plain)
    refused(Idx(str(tmp_path / "a.gz")), zipped)


def test_one_image_of_zeros_is_refused_before_it_is_there(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(idx((1, 2**14, 2**14)), 1))
    refused(Idx(str(tmp_path / "a")), "must be decompressed to at most")


def test_damaged_gzip_is_named(tmp_path):
    content = bytearray(gzip.compress(idx((100, 4, 4), np.random.default_rng(0).bytes(1600))))
    for place in range(10, 60):
        content[place] ^= 0xFF
    (tmp_path / "a").write_bytes(content)
    refused(Idx(str(tmp_path / "a")), "a: ")


# SequenceFiles, TFRecords


def test_a_sequence_file_of_blocks_without_a_codec_is_refused(tmp_path):
    kinds = b"".join(bytes([len(k)]) + k for k in [b"org.apache.hadoop.io.Text"] * 2)
    header = b"SEQ\x06" + kinds + b"\x00\x01" + bytes(4) + b"m" * 16
    (tmp_path / "a").write_bytes(header + b"\xff" * 4 + b"m" * 16 + b"\x01" * 9)
    refused(SequenceFiles(str(tmp_path / "a")), "says that blocks are compressed")


def tfrecord(content):
    head = struct.pack("<Q", len(content))
    return b"".join(
        [head, struct.pack("<I", masked_crc(head)), content, struct.pack("<I", masked_crc(content))]
    )


def test_features_without_names_are_refused(tmp_path):
    (tmp_path / "a").write_bytes(tfrecord(b"\x0a\x08\x0a\x06\x0a\x02\xff\xfe\x12\x00"))
    refused(TFRecords(str(tmp_path / "a"), features="x"), "must have features with names")


def test_a_zipped_record_of_zeros_is_refused(tmp_path, little_room):
    (tmp_path / "a").write_bytes(gzip.compress(tfrecord(bytes(ZEROS)), 1))
    refused(TFRecords(str(tmp_path / "a"), features="x"), "must have records of at most")


# HDF5


def external(file, secret):
    file.create_dataset("data", (1, 20), "u1", external=[(str(secret), 0, 20)])


def virtual(file, secret):
    layout = h5py.VirtualLayout((5,), "f8")
    layout[:] = h5py.VirtualSource(str(secret), "data", (5,))
    file.create_virtual_dataset("data", layout)


def linked(file, secret):
    file["data"] = h5py.ExternalLink(str(secret), "data")


def soft(file, secret):
    file["data"] = h5py.SoftLink("/elsewhere")


def sparse(file, secret):
    file.create_dataset("data", (10, 2**40), "f4", chunks=(1, 100))


def texts(file, secret):
    file["data"] = ["a", "b"]


WRONG = [
    (external, "must lie in the file itself, got another file's"),
    (virtual, "must lie in the file itself, got another file's"),
    (linked, "must lie in the file itself, got a link"),
    (soft, "must lie in the file itself, got a link"),
    (sparse, "has 0 bytes in the file"),
    (texts, "must hold numbers"),
]


@pytest.mark.parametrize("make, message", WRONG, ids=[make.__name__ for make, _ in WRONG])
def test_hdf5_reads_its_own_numbers_alone(tmp_path, make, message):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["data"] = np.full(5, 4711.0)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        make(file, tmp_path / "secret.h5")
    said = refused(HDF5(str(tmp_path / "a.h5"), label=None), message)
    assert "4711" not in said


# LMDB


@pytest.fixture
def database(tmp_path):
    """A tree of three levels, with values in leaves and in overflow pages."""
    path = tmp_path / "a.mdb"
    with lmdb.open(str(path), subdir=False, map_size=1 << 24, lock=False) as place:
        with place.begin(write=True) as transaction:
            for i in range(900):
                width = 60 if i % 100 == 0 else 4
                image = np.full((1, width, width), i % 256, np.uint8)
                transaction.put(b"%08d" % i, datum(image, i))
    return path


def path_at(place, path):
    """Returns the path of a file, or of its copy on a remote file system."""
    if place == "local":
        return str(path)
    with files.open("memory://hostile/data.mdb", "wb") as file:
        file.write(path.read_bytes())
    return "memory://hostile/data.mdb"


def root_of(content):
    """Returns the number of the root page, from the newer meta page."""
    metas = [struct.unpack_from("=QQQ", content, at + 128) for at in (0, 4096)]
    return max((transaction, root) for root, _, transaction in metas)[1]


def number_of_page(content, at):
    content[at] ^= 0xFF


def kind_of_page(content, at):
    content[at + 10] ^= 0x03


def free_space(content, at):
    content[at + 12 : at + 14] = b"\xff\xff"


def first_node(content, at):
    content[at + 16 : at + 18] = b"\xff\x0f"


def child(content, at):
    place = at + int.from_bytes(content[at + 16 : at + 18], "little")
    content[place : place + 4] = b"\xff\xff\xff\x7f"


DAMAGES = [number_of_page, kind_of_page, free_space, first_node, child]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_page_is_named_and_not_followed(database, damage):
    content = bytearray(database.read_bytes())
    damage(content, 4096 * root_of(content))
    database.write_bytes(content)
    refused(LMDB(str(database)), r"page \d+ is damaged")


@pytest.mark.parametrize("count", [300, 2**40, 2**64 - 1])
@pytest.mark.parametrize("place", ["local", "remote"])
def test_a_number_of_records_that_is_wrong_is_refused(database, place, count):
    content = database.read_bytes()
    database.write_bytes(content.replace(struct.pack("=Q", 900), struct.pack("=Q", count)))
    refused(LMDB(path_at(place, database), records_per_split=7), "records")


def test_a_root_beyond_any_file_is_refused(database):
    content = bytearray(database.read_bytes())
    for at in (0, 4096):
        content[at + 128 : at + 136] = b"\xff" * 8
    database.write_bytes(content)
    refused(LMDB(path_at("remote", database)), "must be an LMDB that is whole")


def test_a_value_beyond_the_file_is_named(database):
    content = bytearray(database.read_bytes())
    place = content.index(b"00000100", 8192) + 8  # the page number of the value follows its key
    content[place : place + 8] = (2**40).to_bytes(8, "little")
    database.write_bytes(content)
    refused(LMDB(str(database)), r"page \d+ is damaged")


def test_a_map_at_an_address_of_the_file_s_choice_is_refused(database):
    content = bytearray(database.read_bytes())
    for meta in (0, 4096):
        content[meta + 16 + 24 + 4] |= 1
    database.write_bytes(content)
    refused(LMDB(str(database)), "cannot describe a database")
