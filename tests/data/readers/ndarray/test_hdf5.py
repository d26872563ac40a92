"""HDF5 files: lists of files, chunks, and errors. The rest is in test_source.py."""

import h5py
import numpy as np
import pytest

from sparkdl.data import HDF5, Batch
from sparkdl.errors import DataError
from tests.data.sources import read

X = np.random.default_rng(8).normal(size=(10, 3, 2)).astype(np.float32)


def write(path, x=X, y=None, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=x, **options)
        file["label"] = np.arange(len(x)) if y is None else y
    return str(path)


def test_a_list_of_files_is_read_in_its_order(tmp_path, monkeypatch):
    write(tmp_path / "data/a.h5", X[:3])
    write(tmp_path / "data/b.h5", X[3:])
    monkeypatch.chdir(tmp_path)
    lists = ["data/b.h5\ndata/a.h5\n", "b.h5\n\na.h5", f"{tmp_path}/data/b.h5\na.h5\r\n"]
    for lines in lists:
        (tmp_path / "data/list.txt").write_text(lines)
        batch = read(HDF5("data/list.txt"))
        np.testing.assert_array_equal(batch.features, np.concatenate([X[3:], X[:3]]))
        np.testing.assert_array_equal(batch.labels, [*range(7), *range(3)])
        assert len(set(batch.ids.tolist())) == 10


@pytest.mark.parametrize("chunk, wanted", [(None, 256), (100, 256), (300, 300), (1000, 600)])
def test_a_split_reads_no_chunk_for_another(tmp_path, chunk, wanted):
    x = np.zeros((600, 2))
    options = {} if chunk is None else {"chunks": (chunk, 2), "maxshape": (None, 2)}
    path = write(tmp_path / "a.h5", x, compression="gzip" if chunk else None, **options)
    assert HDF5(path).splits()[0].count == wanted
    assert len(read(HDF5(path))) == 600


def test_large_records_come_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("sparkdl.data.readers.ndarray.hdf5.BYTES_PER_BATCH", 60)
    source = HDF5(write(tmp_path / "a.h5"), records_per_split=6)
    found = [batch for split in source.splits() for batch in source.read(split)]
    assert [len(batch) for batch in found] == [2] * 5
    assert found[-1].ids.tolist() == [(1 << 40) + 2, (1 << 40) + 3]
    np.testing.assert_array_equal(Batch.concat(found).features, X)


def test_no_labels(tmp_path):
    source = HDF5(write(tmp_path / "a.h5"), label=None)
    assert list(read(source).columns) == ["features"]
    assert source.labels is None
    assert HDF5("a.h5", columns={"features": "data"}).labels is None
    assert HDF5("a.h5", columns={"features": "data", "labels": "y"}).labels == "y"


@pytest.mark.parametrize("start", ["", "/", "/./", "//"])
def test_datasets_in_groups_go_by_their_paths(tmp_path, start):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["train/x"] = X
        file["train/deep/y"] = np.arange(10)
    source = HDF5(f"{tmp_path}/a.h5", features=f"{start}train/x", label=f"{start}train//deep/y")
    batch = read(source)
    np.testing.assert_array_equal(batch.features, X)
    np.testing.assert_array_equal(batch.labels, np.arange(10))
    both = HDF5(source.path, columns={"features": f"{start}train/x"})
    np.testing.assert_array_equal(read(both).features, X)


def test_a_path_that_is_not_there_gets_its_nearest(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["train/x"] = X
        file["label"] = np.arange(10)
        file["train/itself"] = file["train"]
        file["train/soft"] = h5py.SoftLink("/label")
        for i in range(110):
            file[f"train/{i:03}"] = file["label"]
        expected = ["label", *(f"train/{i:03}" for i in range(19))]
    for name in ("train/y", "/train/y", "train/x/y", "x"):
        with pytest.raises(DataError) as caught:
            HDF5(f"{tmp_path}/a.h5", features=name).splits()
        text = f"{tmp_path}/a.h5: has no column '{name.lstrip('/')}'; columns are {expected} and"
        assert str(caught.value).startswith(text)
    with pytest.raises(DataError, match="did you mean 'train/017'"):
        HDF5(f"{tmp_path}/a.h5", features="train/O17").splits()


def test_no_step_of_a_path_is_a_link(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["train/x"] = X
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["train/x"] = X
        file["label"] = np.arange(10)
        file["group/soft"] = h5py.SoftLink("/train")
        file["group/external"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/train")
        file["train/last"] = h5py.SoftLink("/label")
    cases = {"group/soft/x": "soft", "group/external/x": "external", "train/last": "last"}
    for name, step in cases.items():
        message = f"'{name}' must lie in the file itself, got a link at '{step}'; soft and external"
        with pytest.raises(DataError, match=message):
            HDF5(f"{tmp_path}/a.h5", features=name).splits()


def test_what_does_not_fit_is_named(tmp_path):
    path = write(tmp_path / "a.h5", y=np.zeros(9))
    with pytest.raises(DataError, match=f"^{path}: datasets must have as many records, got"):
        HDF5(path).splits()
    with pytest.raises(DataError, match=f"^{path}: has no column 'dta'; .*did you mean 'data'"):
        HDF5(path, features="dta").splits()
    with h5py.File(path, "a") as file:
        file["number"] = 3
        file.create_group("group")
    for name in ("number", "group", "/"):
        with pytest.raises(DataError, match=f"^{path}: '{name}' must be a dataset whose first"):
            HDF5(path, features=name).splits()


def test_a_list_that_is_none_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("none.h5")
    with pytest.raises(DataError, match=f"^{tmp_path}/a.txt: names none.h5, but there is no such"):
        HDF5(f"{tmp_path}/a.txt").splits()
    for content in (b"", b"\n", b"\xff\xfe", b"a\0b"):
        (tmp_path / "a.txt").write_bytes(content)
        with pytest.raises(DataError, match=f"^{tmp_path}/a.txt: must be an HDF5 file, or a text"):
            HDF5(f"{tmp_path}/a.txt").splits()
