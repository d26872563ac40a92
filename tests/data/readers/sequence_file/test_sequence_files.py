"""SequenceFiles: types of keys and values, splits of files, and errors.

tests/spark/test_sequence_files.py checks that Hadoop reads and writes the same.
"""

import struct

import numpy as np
import pytest

from sparkdl.data import SequenceFiles, files, write_sequence_file
from sparkdl.data.readers.encodings.datum import encode
from sparkdl.data.readers.encodings.hadoop_format import deserialize, get_vint, serialize, vint
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.data.readers.encodings.java_objects import read_object
from sparkdl.data.readers.sequence_file import writer
from sparkdl.errors import ConfigError, DataError
from tests.data.sources import read
from tests.support.tables import slow

X = np.random.default_rng(4).integers(0, 256, (40, 3, 4, 5)).astype(np.uint8)
Y = np.arange(40) * 7 % 300
# Two Scala tuples, of the kinds that CaffeOnSpark uses, as written by a JVM's ObjectOutputStream.
PAIR = bytes.fromhex(
    "aced00057372000c7363616c612e5475706c653201fbddcd22e7347a0200024c00025f317400124c6a6176612f"
    "6c616e672f4f626a6563743b4c00025f3271007e000178707400076361742e6a706774000137"
)
SIX = bytes.fromhex(
    "aced00057372000c7363616c612e5475706c653689e6cd0b84e7f0300200064c00025f317400124c6a6176612f"
    "6c616e672f4f626a6563743b4c00025f3271007e00014c00025f3371007e00014c00025f3471007e00014c0002"
    "5f3571007e00014c00025f3671007e00017870740008303030303030303174000135737200116a6176612e6c61"
    "6e672e496e746567657212e2a0a4f781873802000149000576616c7565787200106a6176612e6c616e672e4e75"
    "6d62657286ac951d0b94e08b0200007870000000017371007e00050000000c7371007e00050000000a73720011"
    "6a6176612e6c616e672e426f6f6c65616ecd207280d59cfaee0200015a000576616c7565787000"
)


def assert_reads(source, x=X, y=Y):
    batch = read(source)
    np.testing.assert_array_equal(batch.features, x)
    np.testing.assert_array_equal(batch.labels, y)
    assert len(set(batch.ids.tolist())) == len(x)


NUMBERS = [
    0,
    1,
    -1,
    127,
    128,
    -112,
    -113,
    -120,
    255,
    256,
    65535,
    -65536,
    2**31 - 1,
    -(2**31),
    2**62,
]


@pytest.mark.parametrize("n", NUMBERS)
def test_numbers_of_variable_length_come_back(n):
    assert get_vint(b"x" + vint(n) + b"y", 1) == (n, 1 + len(vint(n)))


@pytest.mark.parametrize(
    "n, content", [(300, "8e012c"), (-112, "90"), (128, "8f80"), (-113, "8770")]
)
def test_numbers_of_variable_length_are_hadoops(n, content):
    assert vint(n) == bytes.fromhex(content)


WRITABLES = [
    ("Text", "Ärger", b"\x06\xc3\x84rger"),
    ("BytesWritable", b"ab", b"\0\0\0\2ab"),
    ("NullWritable", None, b""),
    ("IntWritable", -2, b"\xff\xff\xff\xfe"),
    ("LongWritable", 3, b"\0\0\0\0\0\0\0\3"),
    ("FloatWritable", 0.5, struct.pack(">f", 0.5)),
    ("DoubleWritable", 0.1, struct.pack(">d", 0.1)),
]


@pytest.mark.parametrize("kind, value, content", WRITABLES)
def test_writables(kind, value, content):
    assert serialize(kind, value) == content
    assert deserialize(kind, content) == value


COMPRESSIONS = [
    {},
    *({"compression": c, "codec": z} for c in ("record", "block") for z in writer.CODECS),
]


@pytest.mark.parametrize("size", [None, slow(1), 50, 333, 5000], ids=str)
@pytest.mark.parametrize("options", COMPRESSIONS, ids=str)
def test_wherever_it_is_cut_each_record_is_read_once(tmp_path, monkeypatch, options, size):
    monkeypatch.setattr(writer, "SYNC_INTERVAL", 300)
    monkeypatch.setattr(writer, "BLOCK", 300)
    path = str(tmp_path / "a.seq")
    pairs = ((str(y), encode(x, y)) for x, y in zip(X, Y))
    assert write_sequence_file(path, pairs, **options) == 40
    source = SequenceFiles(path, content="datums", bytes_per_split=size)
    assert_reads(source)
    held = [sum(map(len, source.read(split))) for split in source.splits()]
    assert sum(count > 0 for count in held) > 3 or size in (None, 5000)


KEYS = [
    ("Text", lambda y: f"cats/a b.jpg {y}"),
    ("Text", str),
    ("IntWritable", int),
    ("LongWritable", int),
    ("DoubleWritable", float),
]


@pytest.mark.parametrize("kind, key", KEYS)
def test_labels_in_keys(tmp_path, kind, key):
    pairs = [(key(y), encode_image(x)) for x, y in zip(X, Y)]
    write_sequence_file(tmp_path / "a", pairs, key=kind)
    assert_reads(SequenceFiles(str(tmp_path)))
    assert_reads(SequenceFiles(str(tmp_path), channels="BGR"), X[:, ::-1])


def test_labels_take_all_of_int32(tmp_path):
    far = [2**31 - 1, -(2**31)]
    write_sequence_file(tmp_path / "a", [(y, b"a") for y in far], key="DoubleWritable")
    assert read(SequenceFiles(str(tmp_path), content="bytes")).labels.tolist() == far


def test_no_labels(tmp_path):
    write_sequence_file(tmp_path / "a", [(None, encode_image(x)) for x in X], key="NullWritable")
    for content in ("images", "datums", "bytes"):
        source = SequenceFiles(str(tmp_path), content=content, label=False)
        assert source.labels is None
    assert list(read(SequenceFiles(str(tmp_path), label=False)).columns) == ["features"]


def test_images_are_resized(tmp_path):
    write_sequence_file(
        tmp_path / "a", [("1", encode_image(X[0])), ("2", encode_image(X[1, :, :2]))]
    )
    assert read(SequenceFiles(str(tmp_path), size=(2, 3))).features.shape == (2, 3, 2, 3)


def bad(pairs, **options):
    return lambda path: write_sequence_file(path, pairs, **options)


BAD = [
    (bad([("1", b"no image")]), {}, "record 0: must be an image"),
    (
        bad([("1", b"a"), ("2", b"ab")]),
        {"content": "bytes"},
        r"record 1: features must have the sh",
    ),
    (
        bad([("1", b"a"), ("x", b"b")]),
        {"content": "bytes"},
        "record 1: key must be a number, a text",
    ),
    (bad([("img 3_7", b"a")]), {"content": "bytes"}, "record 0: key must be .*, got 'img 3_7'"),
    (bad([("", b"a")]), {"content": "bytes"}, "record 0: key must be a number, a text"),
    (bad([("1", b"\xff")]), {"content": "datums"}, "record 0: must be a Datum"),
    (bad([("1", "a")], value="Text"), {}, "record 0: value must be bytes, got 'a'"),
    (
        bad([(PAIR[:20], b"a")], key="BytesWritable"),
        {},
        "record 0: key holds a Java object that is",
    ),
    *(
        (bad([(1, b"a"), (key, b"b")], key=kind), {"content": "bytes"}, f"record 1: label {must}")
        for kind, key, must in [
            ("FloatWritable", 0.5, "must be a whole number of int32, got 0.5"),
            ("DoubleWritable", -0.9, "must be a whole number of int32, got -0.9"),
            ("DoubleWritable", float("inf"), "must be a whole number of int32, got inf"),
            ("LongWritable", 2**31, "must be a whole number of int32, got 2147483648"),
            ("LongWritable", -(2**31) - 1, "must be a whole number of int32, got -2147483649"),
        ]
    ),
    (
        bad([("a 2147483648", b"a")]),
        {"content": "bytes"},
        "record 0: label must be a whole number of int32, got '2147483648'",
    ),
]


@pytest.mark.parametrize("write, options, message", BAD, ids=[message for *_, message in BAD])
def test_a_record_that_cannot_be_used_is_named(tmp_path, write, options, message):
    write(tmp_path / "a")
    with pytest.raises(DataError, match=f"^{tmp_path}/a, records of bytes 0 to .*, {message}"):
        read(SequenceFiles(str(tmp_path), **options))


def rewritten(path, change):
    write_sequence_file(path, [("1", b"abc")] * 9)
    path.write_bytes(change(path.read_bytes()))
    return SequenceFiles(str(path), content="bytes")


FOREIGN = [
    (lambda c: b"SEQ\x05" + c[4:], "must be a SequenceFile of version 6, got 5"),
    (lambda c: c[:40], "is cut short, or its header is damaged"),
    (lambda c: c.replace(b"io.Text", b"io.Test"), "keys must be one of Text, .*, got Test"),
    (lambda c: b"RIFF" + c, "must be a SequenceFile, but begins with b'RIFF'"),
]


@pytest.mark.parametrize("change, message", FOREIGN)
def test_what_is_no_sequence_file_is_named_on_the_driver(tmp_path, change, message):
    source = rewritten(tmp_path / "a", change)
    with pytest.raises(DataError, match=f"^{tmp_path}/a: {message}"):
        source.splits()


DAMAGED = [
    (lambda c: c[:-2], "after 8 records: the file is cut short: 9 bytes must|is cut short"),
    (
        lambda c: c[:87] + b"\0\0\0\1\0\0\0\2" + c[95:],
        "is damaged: a record of 1 bytes has a key of 2",
    ),
    (lambda c: c[:87] + b"\xff" * 4 + c[91:], "a sync marker differs"),
]


@pytest.mark.parametrize("change, message", DAMAGED)
def test_a_damaged_file_is_named(tmp_path, change, message):
    source = rewritten(tmp_path / "a", change)
    with pytest.raises(DataError, match=f"^{tmp_path}/a, records of bytes 0 to .*{message}"):
        read(source)


@pytest.mark.parametrize("compression", ["record", "block"])
def test_damage_under_compression_is_named(tmp_path, compression):
    write_sequence_file(tmp_path / "a", [("1", bytes(500))] * 9, compression=compression)
    content = bytearray((tmp_path / "a").read_bytes())
    content[-8:] = b"\xff" * 8
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match="is damaged: DefaultCodec cannot decompress it"):
        read(SequenceFiles(str(tmp_path), content="bytes"))


def test_keys_of_caffe_on_spark(tmp_path):
    assert read_object(PAIR) == ["cat.jpg", "7"]
    assert read_object(SIX) == ["00000001", "5", 1, 12, 10, False]
    x = np.arange(120, dtype=np.uint8).reshape(1, 12, 10)
    pairs = [(PAIR, encode_image(x)), (SIX, x.tobytes())]
    write_sequence_file(tmp_path / "a", pairs, key="BytesWritable")
    assert_reads(SequenceFiles(str(tmp_path), channels="gray"), np.stack([x, x]), [7, 5])
    write_sequence_file(tmp_path / "a", [(SIX, bytes(119))], key="BytesWritable")
    with pytest.raises(
        DataError, match=r"record 0: image of shape \(1, 12, 10\) must hold as many"
    ):
        read(SequenceFiles(str(tmp_path)))


def test_strange_java_objects_are_refused():
    ends = [b"\x75", b"\x73\x71\0\x7e\0\0", b"\x71\0\0\0\0"]
    for content in [b"", b"no", PAIR[:9], PAIR[:-1], *(PAIR[:4] + end for end in ends)]:
        with pytest.raises(ValueError):
            read_object(content)


@pytest.mark.parametrize("options, message", [
    ({"codec": "SnappyCodec", "compression": "block"}, "codec must be one of .*, got SnappyCodec"),
    ({"compression": "zip"}, "compression must be one of none, record, block, got zip"),
    ({"key": "Writable"}, "key must be one of Text, .*, got Writable"),
])  # fmt: skip
def test_the_writer_refuses(tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        write_sequence_file(tmp_path / "a", [], **options)
    assert not files.exists(tmp_path / "a")


UNFIT = {
    "Text": (7, "\ud800"),
    "BytesWritable": ("a", 7),
    "NullWritable": ("a",),  # which was left out without a word
    "IntWritable": (2**31, 1.5, "1"),
    "FloatWritable": (1e39,),
}


@pytest.mark.parametrize("compression", ["none", "block"])
@pytest.mark.parametrize("kind", UNFIT)
def test_what_a_writable_does_not_hold_is_named(tmp_path, kind, compression):
    for value in UNFIT[kind]:
        with pytest.raises(DataError, match=f"^record 1: must be what a {kind} holds, got "):
            right = {"Text": "", "BytesWritable": b"", "NullWritable": None}.get(kind, 0)
            records = [(0, right), (1, value)]
            options = {"key": "IntWritable", "value": kind, "compression": compression}
            write_sequence_file(tmp_path / "a", records, **options)


def test_options_are_refused():
    with pytest.raises(ConfigError, match="content must be 'images', 'datums' or 'bytes'"):
        SequenceFiles("a", content="image")
