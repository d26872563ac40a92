"""Reader of HDF5 files with datasets of features and labels."""

import io
import math
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import h5py

from sparkdl.config import Integer, Mapping, Optional, Path, Text, dataclass, option
from sparkdl.config.field_types import PathName
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.ordered_calls import each_in_order
from sparkdl.data.readers.core.base import Reader, SplitByRecords, StoredSource
from sparkdl.data.readers.core.chunks import BYTES_PER_BATCH, RECORDS_PER_BATCH
from sparkdl.data.readers.core.file_ranges import RecordRange, data_files, require_as_listed
from sparkdl.data.readers.encodings.arrow_columns import require_column
from sparkdl.data.readers.encodings.decompression import SMALL, room
from sparkdl.data.source import Split, split_bounds
from sparkdl.errors import DataError, text_of

MAGIC = b"\x89HDF\r\n\x1a\n"
ENDINGS = (".h5", ".hdf5", ".he5")
DEFLATED = 1032  # largest expansion factor of deflate
MOST_LINKS = 1000  # links examined for an error message
DEEPEST = 16  # nesting of groups that is examined for it
NAME = Text(what="the name of a dataset")


@dataclass(frozen=True, kw_only=True)
class HDF5(StoredSource, Reader, SplitByRecords):
    """Datasets of HDF5 files, whose first axis is the record.

    Datasets in groups are named by their paths: "train/x".
    """

    path: PathName = option(
        Path(),
        "A file, a folder of files that end in .h5 or .hdf5, or a text file with a path on each "
        "line as Caffe's HDF5Data has it: from the current folder, or else from that of the list.",
        kw_only=False,
    )
    features: str = option(NAME, "Dataset of numbers, (n, C, H, W) or (n, F).", default="data")
    label: str | None = option(
        Optional(of=NAME),
        "Dataset of labels, one for each record. None: read no labels.",
        default="label",
    )
    columns: dict[str, str] | None = option(
        Mapping(keys=Text(what="a column of a batch"), values=NAME, minimum=1),
        "Instead of `features` and `label`, {column of a batch: dataset}, for networks with "
        'several inputs or outputs; also "mask" and "weights", or "size_weights" for those of the '
        'output "size", of several. Weights of labels that the network does not have are refused.',
        default=None,
    )
    records_per_split: int | None = option(
        Integer(minimum=1),
        "Records of a split. None: 256, or as many as a chunk of the dataset holds, or more if "
        "that would give over 4,096 splits of a file.",
        default=None,
    )

    @property
    def labels(self) -> str | None:
        """The dataset of labels; None without labels, or with those of several outputs."""
        return self._dataset_names().get("labels")

    def splits(self) -> list[Split]:
        """Returns ranges of rows. Reads only the datasets' shapes."""
        paths = self._files()
        with each_in_order(self._bounds, paths) as found:
            each = zip(paths, found, strict=True)
            bounds = [(path, *bound) for path, of_file in each for bound in of_file]
        if not bounds:
            raise DataError(f"{self.path}: must hold records, but is empty")
        return [
            RecordRange(partition=i, count=stop - start, path=path, start=start, stop=stop)
            for i, (path, start, stop) in enumerate(bounds)
        ]

    def stamped_paths(self) -> Collection[str]:
        """Returns the path, with the files that it lists if it is a list."""
        listed = [] if files.is_directory(self.path) else list_hdf5_files(self.path)
        return [self.path, *listed]

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of a few megabytes, dtypes as stored."""
        with open_hdf5(split.path) as file:
            datasets = self._datasets(split.path, file)
            count = min(split.stop, *map(len, datasets.values()))
            require_as_listed(split.path, "records", split.stop, count)
            step = min(map(batch_size, datasets.values()))
            for start in range(split.start, split.stop, step):
                stop = min(start + step, split.stop)
                columns = {name: dataset[start:stop] for name, dataset in datasets.items()}
                ids = record_ids(split.partition, start - split.start, stop - start)
                yield Batch(columns=columns, ids=ids)

    def _files(self):
        is_folder = files.is_directory(self.path)
        return data_files(self.path, ENDINGS) if is_folder else list_hdf5_files(self.path)

    def _bounds(self, path):
        with open_small(path) as file:
            dataset = next(iter(self._datasets(path, file).values()))
            count, chunk = len(dataset), (dataset.chunks or (1,))[0]
        if count == 0:
            return []
        size = self.records_per_split or max(split_bounds(count)[0][1], min(chunk, count))
        return split_bounds(count, size)

    def _dataset_names(self):
        if self.columns is not None:
            return self.columns
        return {"features": self.features} | ({"labels": self.label} if self.label else {})

    def _datasets(self, path, file):
        names = self._dataset_names()
        datasets = {column: find_dataset(path, file, name) for column, name in names.items()}
        counts = {name: len(datasets[column]) for column, name in names.items()}
        if len(set(counts.values())) > 1:
            raise DataError(f"{path}: datasets must have as many records, got {counts}")
        return datasets


def find_dataset(path, file, name):
    """Returns the dataset with a name, or a path through groups.

    Raises DataError unless it holds numbers stored in the file itself. Only hard links are
    followed, as others may lead to any file that this user can read.
    """
    parts, found = [part for part in name.split("/") if part not in ("", ".")], file
    for part in parts:
        link = found.get(part, getlink=True) if isinstance(found, h5py.Group) else None
        if link is None:
            require_column("/".join(parts), dataset_paths(file), path)
        if not isinstance(link, h5py.HardLink):
            raise DataError(
                f"{path}: {name!r} must lie in the file itself, got a link at {part!r}; soft and "
                "external links are refused: name the file and the dataset that it leads to"
            )
        found = found[part]
    check_dataset(path, found, name)
    return found


def dataset_paths(file):
    """Returns the paths of the first datasets in a file, outer groups first."""
    links = islice(links_below(file), MOST_LINKS)
    return [path for path, kind in links if kind is h5py.Dataset]


def links_below(file):
    """Yields (path, class) of a file's links, outer groups first.

    The class is None unless the link is a hard link. Each group is visited once, as groups may form
    cycles.
    """
    root = file["/"]
    groups, known = deque([("", root)]), {root}
    while groups:
        before, group = groups.popleft()
        for key in filter(lambda key: isinstance(key, str), group):
            is_hard = isinstance(group.get(key, getlink=True), h5py.HardLink)
            kind = group.get(key, getclass=True) if is_hard else None
            is_new = kind is h5py.Group and group[key] not in known
            if is_new and before.count("/") < DEEPEST:
                known.add(group[key])
                groups.append((f"{before}{key}/", group[key]))
            yield f"{before}{key}", kind


def check_dataset(path, dataset, name):
    """Raises DataError unless a dataset holds numbers stored in the file itself.

    An untrusted file could otherwise name other files, to be read with this user's rights, or sizes
    that it does not have, for which memory would be allocated.
    """
    if not isinstance(dataset, h5py.Dataset) or not dataset.shape:
        raise DataError(f"{path}: {name!r} must be a dataset whose first axis is the record")
    if dataset.is_virtual or dataset.external:
        raise DataError(f"{path}: {name!r} must lie in the file itself, got another file's")
    if dataset.dtype.kind not in "biuf":
        raise DataError(f"{path}: {name!r} must hold numbers, got {dataset.dtype}")
    held = dataset.id.get_storage_size()
    filtered = dataset.id.get_create_plist().get_nfilters() > 0
    if dataset.nbytes > SMALL + held * (DEFLATED if filtered else 1):
        raise DataError(f"{path}: {name!r} of shape {dataset.shape} has {held} bytes in the file")
    if dataset.nbytes // max(len(dataset), 1) > room(held):
        raise DataError(f"{path}: {name!r} must have records of at most {room(held)} bytes")


def list_hdf5_files(path):
    """Returns absolute paths: `path` itself if it is HDF5, else the files that it lists."""
    with files.open(path) as file:
        content = file.read(len(MAGIC))
        if content == MAGIC:
            return [files.absolute(path)]
        content += file.read()
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        lines = []
    names = [line.strip() for line in lines if line.strip()]
    if not names or any("\0" in name for name in names):
        raise DataError(f"{path}: must be an HDF5 file, or a text file with paths of such")
    with each_in_order(partial(locate_listed_file, path), names, [path, *names]) as located:
        return list(located)


def locate_listed_file(path, name):
    """Returns the absolute path of a listed file: the path as given, or relative to the list."""
    near = f"{files.absolute(path).rpartition('/')[0]}/{name}"
    for one in (name, near):
        if files.exists(one):
            return files.absolute(one)
    raise DataError(f"{path}: names {name}, but there is no such file")


def batch_size(dataset):
    """Returns the number of records in a batch of a few megabytes."""
    nbytes = dataset.dtype.itemsize * math.prod(dataset.shape[1:])
    return max(1, min(RECORDS_PER_BATCH, BYTES_PER_BATCH // max(nbytes, 1)))


@contextmanager
def open_hdf5(path):
    """Opens an h5py.File on any file system; errors become DataErrors that name it."""
    with files.open(path) as content, hdf5_file(content, path) as file:
        yield file


@contextmanager
def open_small(path):
    """Opens an h5py.File of which little is read; a small one not on this disk is read before.

    The library lets no other thread in while it waits for a read.
    """
    if (
        files.is_local(path)
        or len(content := files.head(path, files.READ_AHEAD)) >= files.READ_AHEAD
    ):
        with open_hdf5(path) as file:
            yield file
    else:
        with hdf5_file(io.BytesIO(content), path) as file:
            yield file


@contextmanager
def hdf5_file(content, path):
    """Opens an h5py.File from an open file; errors of the library become DataErrors."""
    try:
        with h5py.File(content, "r") as file:
            yield file
    except DataError:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError(f"{path}: cannot be read as HDF5: {text_of(error)}") from error
