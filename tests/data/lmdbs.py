"""LMDBs as others write them: Datums encoded by hand in the protobuf wire format."""

import struct

import lmdb
import numpy as np

from tests.support.protobuf import field, varint

X = np.random.default_rng(0).integers(0, 256, (10, 3, 2, 4)).astype(np.uint8)
Y = np.array([0, 1, 127, 128, 300, 70_000, 2, 3, 4, 5], np.int32)  # varints of 1 to 3 bytes


def shape_fields(x):
    return b"".join(field(i + 1, n) for i, n in enumerate(x.shape))


def datum(x, y):
    return shape_fields(x) + field(4, x.tobytes()) + field(5, y)


def datum_label_first(x, y):
    return field(5, y) + field(4, x.tobytes()) + shape_fields(x)


def datum_not_encoded(x, y):
    return datum(x, y) + field(7, 0)


def datum_unknown_field(x, y):
    return datum(x, y) + field(99, b"more")


def datum_floats(x, y):
    floats = b"".join(varint(6 << 3 | 5) + struct.pack("<f", v) for v in x.ravel())
    return shape_fields(x) + field(5, y) + floats


def datum_packed_floats(x, y):
    packed = field(6, x.astype("<f4").tobytes())
    return shape_fields(x) + field(5, y) + packed


def mixed(x, y):
    return (datum, datum_label_first)[int(y) % 2](x, y)


WRITERS = [
    datum,
    datum_label_first,
    datum_not_encoded,
    datum_unknown_field,
    datum_floats,
    datum_packed_floats,
    mixed,
]
FLOATS = {datum_floats, datum_packed_floats}


def put(path, items, **options):
    with lmdb.open(str(path), map_size=2**28, **options) as env:
        with env.begin(write=True) as transaction:
            for key, value in items:
                transaction.put(key, value)
    return str(path)


def caffe_db(path, writer=datum, key=b"%08d", **options):
    items = [(key % i, writer(x, int(y))) for i, (x, y) in enumerate(zip(X, Y))]
    return put(path, items, **options)
