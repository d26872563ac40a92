"""LMDBs that are damaged, truncated, changed or missing are refused and never crash."""

import struct

import lmdb
import numpy as np
import pytest

from sparkdl.data import LMDB, files
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.errors import DataError
from tests.data.lmdbs import X, caffe_db, datum, put, shape_fields
from tests.data.sources import read
from tests.support.protobuf import field


def jpeg(x, y):
    return field(4, b"\xff\xd8\xff\xe0jpeg") + field(5, y) + field(7, 1)


def png(x, y):
    return field(4, encode_image(x[:1])) + field(5, y) + field(7, 1)


def flagged(x, y):
    return datum(x, y) + field(7, 1)


def short(x, y):
    return shape_fields(x) + field(4, x.tobytes()[1:])


BAD_VALUES = {
    "encoded": (jpeg, r"image cannot be decoded|must be an image"),
    "encoded, of the same form": (flagged, r"must be an image, got"),
    "encoded, of another shape": (png, r"Datum must have the shape \(3, 2, 4\) of the first"),
    "too few bytes": (short, r"Datum of shape \(3, 2, 4\) must hold as many numbers, got 23"),
    "no numbers": (lambda x, y: field(5, y), r"Datum of shape \(0, 0, 0\) must hold"),
    "negative shape": (
        lambda x, y: datum(x, y) + field(1, 2**64 - 3) + field(2, 2**64 - 2),
        r"Datum of shape \(-3, -2, 4\) must hold",
    ),
    "another shape": (
        lambda x, y: datum(x.reshape(3, 4, 2), y),
        r"Datum must have the shape \(3, 2, 4\) of the first, got \(3, 4, 2\)",
    ),
    "text": (lambda x, y: b"hello", "must be a Datum, got b'hello'"),
    "cut": (lambda x, y: datum(x, y)[:20], "must be a Datum, got"),
    "cut tail": (lambda x, y: datum(x, y)[:-1], "must be a Datum, got"),
}


@pytest.mark.parametrize("case", BAD_VALUES)
def test_a_bad_value_is_named(tmp_path, case):
    writer, message = BAD_VALUES[case]
    items = [(b"%08d" % i, datum(x, 1)) for i, x in enumerate(X)]
    items[6] = (b"00000006", writer(X[6], 1))
    path = put(tmp_path / "db", items)
    with pytest.raises(DataError, match=f"^{path} from key 00000004, record 2: {message}"):
        read(LMDB(path, records_per_split=4))


def test_a_changed_database_is_noticed(tmp_path):
    source = LMDB(caffe_db(tmp_path / "db"), records_per_split=4)
    splits = source.splits()
    with lmdb.open(str(tmp_path / "db")) as env, env.begin(write=True) as transaction:
        transaction.delete(b"00000005")
        transaction.delete(b"00000008")
    with pytest.raises(
        DataError, match="must have 4 records up to key b'00000008', got 4 up to None"
    ):
        list(source.read(splits[1]))
    with pytest.raises(DataError, match="key 00000008: this key is missing; was the LMDB changed"):
        list(source.read(splits[2]))


def test_a_database_that_is_open_here_is_to_be_closed(tmp_path):
    path = caffe_db(tmp_path / "db")
    message = "must not be open elsewhere in this process; close the lmdb.Environment$"
    with lmdb.open(path, readonly=True), pytest.raises(DataError, match=f"^{path}: {message}"):
        LMDB(path).splits()
    assert LMDB(path).splits()


def large(path):
    """Writes a database of some 2 MB and returns the path of its data."""
    put(
        path,
        [(b"%08d" % i, datum(np.full((1, 28, 28), i % 256, np.uint8), 1)) for i in range(2000)],
    )
    return path / "data.mdb"


@pytest.mark.parametrize("keep", [8192, 8193, 40960, -4097, -4096, -1])
def test_what_is_cut_short_is_refused(tmp_path, keep):
    file = large(tmp_path / "db")
    splits = LMDB(str(tmp_path / "db")).splits()
    content = file.read_bytes()
    file.write_bytes(content[:keep])
    expected = f"^{tmp_path}/db: cut short, it must have {len(content)} bytes, got "
    with pytest.raises(DataError, match=expected):
        LMDB(str(tmp_path / "db")).splits()
    with pytest.raises(DataError, match=expected):
        list(LMDB(str(tmp_path / "db")).read(splits[-1]))


@pytest.mark.parametrize("keep", [0, 10, 100, 4096, 5000])
def test_what_lost_even_its_meta_pages_is_refused(tmp_path, keep):
    file = large(tmp_path / "db")
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(DataError, match=f"^{tmp_path}/db: (must be an LMDB|cut short)"):
        LMDB(str(tmp_path / "db")).splits()


FOREIGN = {
    "text": b"this is no database, whatever its name says, and is long enough" * 200,
    "zeros": bytes(20_000),
    "ones": b"\xff" * 20_000,
    "later format": bytes(16) + struct.pack("=IIQQI", 0xBEEFC0DE, 9, 0, 0, 4096) + bytes(20_000),
}


@pytest.mark.parametrize("subdir", [True, False])
@pytest.mark.parametrize("case", FOREIGN)
def test_what_is_no_lmdb_is_refused(tmp_path, case, subdir):
    folder = tmp_path / "db" if subdir else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / "data.mdb").write_bytes(FOREIGN[case])
    path = folder if subdir else folder / "data.mdb"
    with pytest.raises(DataError, match=f"^{path}: must be an LMDB"):
        LMDB(str(path)).splits()


def test_a_damaged_page_is_refused(tmp_path):
    file = large(tmp_path / "db")
    content = bytearray(file.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    file.write_bytes(content)
    with pytest.raises(DataError, match=f"^{tmp_path}/db: cannot be read as an LMDB"):
        read(LMDB(str(tmp_path / "db")))


@pytest.mark.parametrize("prefix", ["{}", "memory:/{}"])
def test_databases_with_a_name_are_told(tmp_path, prefix):
    with lmdb.open(str(tmp_path / "db"), max_dbs=1) as environment:
        inner = environment.open_db(b"train")
        with environment.begin(db=inner, write=True) as transaction:
            transaction.put(b"0", datum(X[0], 1))
    path = f"{prefix.format(tmp_path)}/db"
    if prefix != "{}":
        files.write(f"{path}/data.mdb", (tmp_path / "db/data.mdb").read_bytes())
    message = f"^{path}: cannot be read as an LMDB: its records lie in .*, 'train', and only those"
    with pytest.raises(DataError, match=message):
        read(LMDB(path))


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}/none: there is no such LMDB; the path must"):
        LMDB(f"{tmp_path}/none").splits()


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}: must be an LMDB, but the folder has no"):
        LMDB(str(tmp_path)).splits()


def test_an_empty_one_is_refused(tmp_path):
    put(tmp_path / "db", [])
    with pytest.raises(
        DataError, match=f"^{tmp_path}/db: must hold records, but the LMDB is empty"
    ):
        LMDB(f"{tmp_path}/db").splits()
