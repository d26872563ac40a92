"""Records survive conversion from any storage to any other unchanged."""

import gzip
import struct

import h5py
import numpy as np
import pytest

from sparkdl.cli import main
from sparkdl.data import LMDB, Batch, Cifar, Idx, Parquet, SequenceFiles, files
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.errors import ConfigError, DataError, SparkdlError
from sparkdl.interop.caffe.messages.blobs import read_mean

X = np.random.default_rng(9).integers(0, 256, (300, 3, 32, 32)).astype(np.uint8)
Y = np.arange(300) % 10
BACK = {
    "LMDB": LMDB,
    "Parquet": Parquet,
    "SequenceFiles": lambda path: SequenceFiles(path, content="datums"),
}
WRITTEN = {
    "LMDB": "{{type: LMDB, path: {}}}",
    "Parquet": "{{type: Parquet, path: {}}}",
    "SequenceFiles": "{{type: SequenceFiles, content: datums, path: {}}}",
}


def convert(data, output=None, *more):
    to = [] if output is None else ["--output", str(output)]
    return main(["convert", "--data", data, "--traceback", *to, *more])


def read(source):
    return Batch.concat([batch for split in source.splits() for batch in source.read(split)])


def assert_holds(source, x=X, y=Y):
    batch = read(source)
    np.testing.assert_array_equal(batch.features.reshape(x.shape), x)
    np.testing.assert_array_equal(batch.labels, y)
    assert len(set(batch.ids.tolist())) == len(x)


def cifar(path):
    rows = np.concatenate([Y[:, np.newaxis].astype(np.uint8), X.reshape(300, -1)], axis=1)
    path.write_bytes(rows.tobytes())
    return f"{{type: Cifar, path: {path}}}"


@pytest.mark.parametrize("last", BACK)
@pytest.mark.parametrize("first", BACK)
def test_there_and_back(tmp_path, first, last, capsys):
    one, two = tmp_path / "one", tmp_path / "two"
    assert convert(cifar(tmp_path / "a.bin"), one, "--to", first) == 0
    assert f"300 records are in {one}" in capsys.readouterr().out
    data = WRITTEN[first].format(one)
    assert convert(data, two, "--to", last, "--shape", "3,32,32") == 0
    assert_holds(BACK[last](str(two)))


@pytest.mark.parametrize("to", BACK)
def test_another_file_system(tmp_path, to, monkeypatch):
    monkeypatch.setenv("SPARKDL_COPIES", str(tmp_path / "copies"))
    convert(cifar(tmp_path / "a.bin"), "memory://converted/a", "--to", to)
    assert_holds(BACK[to]("memory://converted/a"))
    with pytest.raises(DataError, match="memory://converted/a: something is there already"):
        convert(cifar(tmp_path / "a.bin"), "memory://converted/a", "--to", to)
    files.remove("memory://converted")


def test_images_and_their_mean(tmp_path):
    for i, x in enumerate(X[:4]):
        (tmp_path / f"images/{i % 2}").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"images/{i % 2}/{i}.png").write_bytes(encode_image(x))
    data, mean = f"{{type: Images, path: {tmp_path}/images, channels: BGR}}", tmp_path / "mean.npy"
    convert(data, tmp_path / "db", "--mean", str(mean))
    assert sorted(map(bytes, read(LMDB(f"{tmp_path}/db")).features)) == sorted(
        bytes(np.ascontiguousarray(x[::-1])) for x in X[:4]
    )
    np.testing.assert_allclose(np.load(mean), X[:4, ::-1].mean(axis=0), rtol=1e-6)
    convert(data, None, "--mean", f"{tmp_path}/mean.binaryproto")
    np.testing.assert_array_equal(read_mean(f"{tmp_path}/mean.binaryproto"), np.load(mean))


def idx(path, x, code=8):
    head = struct.pack(">HBB", 0, code, x.ndim) + struct.pack(f">{x.ndim}I", *x.shape)
    path.write_bytes(head + x.tobytes())
    return str(path)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("size", [None, 7])
def test_idx(tmp_path, zipped, size):
    paths = [idx(tmp_path / "x", X[:, 0]), idx(tmp_path / "y", Y.astype(np.uint8))]
    if zipped:
        for path in (tmp_path / "x", tmp_path / "y"):
            path.write_bytes(gzip.compress(path.read_bytes()))
    source = Idx(paths[0], label_path=paths[1], records_per_split=size)
    assert_holds(source, X[:, :1])
    convert(f"{{type: Idx, path: {paths[0]}, label_path: {paths[1]}}}", tmp_path / "db")
    assert_holds(LMDB(f"{tmp_path}/db"), X[:, :1])
    assert Idx(paths[0]).labels is None


def test_idx_of_floats(tmp_path):
    path = idx(tmp_path / "x", np.array([[1.5, -2], [3, 4]], ">f4"), code=13)
    batch = read(Idx(path))
    np.testing.assert_array_equal(batch.features, [[1.5, -2], [3, 4]])
    assert batch.features.dtype.isnative


def test_damaged_idx_is_named(tmp_path):
    path = idx(tmp_path / "x", X[:, 0])
    content = (tmp_path / "x").read_bytes()
    for bad in (b"", content[:7], b"text" * 9):
        (tmp_path / "x").write_bytes(bad)
        with pytest.raises(DataError, match=f"^{path}: must be an IDX file"):
            Idx(path).splits()
    (tmp_path / "x").write_bytes(content[:-1])
    with pytest.raises(DataError, match=f"^{path}: is cut short, it must have records up to 300"):
        read(Idx(path))
    labels = idx(tmp_path / "y", Y[:9].astype(np.uint8))
    with pytest.raises(DataError, match="300 images need as many labels, got 9"):
        Idx(path, label_path=labels).splits()


def test_cifar(tmp_path):
    cifar(tmp_path / "a.bin")
    assert_holds(Cifar(str(tmp_path), records_per_split=40))
    (tmp_path / "b").mkdir()
    (tmp_path / "b/a.bin").write_bytes(bytes([7, 99]) + X[0].tobytes())  # coarse, then fine label
    assert_holds(Cifar(f"{tmp_path}/b", classes=100), X[:1], [99])
    with pytest.raises(DataError, match="must have records of 3073 bytes, got 3074 bytes"):
        Cifar(f"{tmp_path}/b").splits()
    (tmp_path / "a.bin").write_bytes(b"")
    with pytest.raises(DataError, match="must hold records, but is empty"):
        Cifar(f"{tmp_path}/a.bin").splits()
    with pytest.raises(ConfigError, match="Cifar.classes must be 10 or 100, got 5"):
        Cifar("a", classes=5)


def test_what_cannot_be_is_refused(tmp_path):
    data = cifar(tmp_path / "a.bin")
    with pytest.raises(ConfigError, match="--output or --mean must be given: there"):
        convert(data)
    with pytest.raises(ConfigError, match="--mean must be a path that is not empty, got ''"):
        convert(data, tmp_path / "db", "--mean", "")
    with pytest.raises(ConfigError, match="--shape must be sizes such as 3,32,32, got '3,a'"):
        convert(data, tmp_path / "db", "--shape", "3,a")
    with pytest.raises(ConfigError, match="--shape must be sizes such as 3,32,32, got '3,²'"):
        convert(data, tmp_path / "db", "--shape", "3,²")
    with pytest.raises(DataError, match=r"records of \(3, 32, 32\) cannot be reshaped to \(5, 5\)"):
        convert(data, tmp_path / "db", "--shape", "5,5")
    assert not (tmp_path / "db").exists()


COLUMNS = {
    "weights": {"features": "x", "labels": "y", "weights": "w"},
    "a mask": {"features": "x", "labels": "y", "mask": "w"},
    "labels of several outputs": {"features": "x", "y": "y", "z": "w"},
    "several inputs": {"a": "x", "b": "w", "labels": "y"},
}


@pytest.mark.parametrize("to", [*BACK, None])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_without_a_place_in_the_files_are_refused(tmp_path, name, to):
    """They were left out without a word."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["y"], file["w"] = np.ones((2, 3)), [0, 1], [1.0, 5.0]
    columns = ", ".join(f"{column}: {dataset}" for column, dataset in COLUMNS[name].items())
    data = f"{{type: HDF5, path: {tmp_path}/a.h5, columns: {{{columns}}}}}"
    out = tmp_path / "out"
    more = ["--to", to, "--output", str(out)] if to else ["--mean", str(out)]
    with pytest.raises(DataError, match="columns to write must be features, and labels if there"):
        convert(data, None, *more)
    assert not out.exists()


MEANS = {
    "a mean of rows": (
        "mean.binaryproto",
        r"holds images \(C, H, W\), got \(3072,\); give --shape",
    ),
    "a file that is there": ("a.bin", "a.bin: something is there already; remove it or choose"),
    "a folder": ("folder", "folder: must be the path of a file, got a folder"),
    "below a file": ("a.bin/mean.npy", "cannot be written, .*a.bin is a file"),
    "the records": ("out", "--mean must be outside of out, the folder of the records, got 'out'"),
    "in the records": ("out/mean.npy", "--mean must be outside of out, the folder of the records"),
}


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_that_cannot_be_written_is_refused_before_the_records_are(
    tmp_path, monkeypatch, name
):
    """The records were written first, and stayed."""
    monkeypatch.chdir(tmp_path)
    cifar(tmp_path / "a.bin")
    (tmp_path / "folder").mkdir()
    path, text = MEANS[name]
    data = "{type: Cifar, path: a.bin}"
    shape = ["--shape", "3072"] if name == "a mean of rows" else []
    with pytest.raises(SparkdlError, match=text):
        convert(data, "out", "--mean", path, *shape)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.bin", "folder"]


@pytest.mark.parametrize("has_output", [True, False])
def test_the_columns_of_a_batch_are_checked_once(tmp_path, monkeypatch, has_output):
    calls = []
    for module in ("commands.convert", "data.readers.lmdb_files.writer"):
        monkeypatch.setattr(f"sparkdl.{module}.require_plain", calls.append)
    more = "--shape", "3,1024,1", "--mean", str(tmp_path / "mean.npy")
    convert(cifar(tmp_path / "a.bin"), tmp_path / "out" if has_output else None, *more)
    assert len(calls) == len(set(map(id, calls))) > 0
