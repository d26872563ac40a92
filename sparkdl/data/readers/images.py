"""Reader of image files: one sub-folder per class, or a list of files and labels."""

import logging
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

import numpy as np

from sparkdl.config import Path, dataclass, option
from sparkdl.config.field_types import PathName
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.batches.blocks import permutation
from sparkdl.data.batches.columns import Violation, is_int32
from sparkdl.data.ordered_calls import THREADS, each_in_order
from sparkdl.data.readers.core.base import ImageSource, Reader, SplitByRecords, StoredSource
from sparkdl.data.readers.encodings.image_codec import ENDINGS, decode_image
from sparkdl.data.source import Split, split_bounds
from sparkdl.errors import DataError

BYTES_PER_BATCH = 2**24
log = logging.getLogger("sparkdl.data")


@dataclass(frozen=True, kw_only=True)
class ImageFiles(Split):
    """Some files below a folder, and their labels."""

    path: str
    names: tuple[str, ...]
    labels: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.path}, partition {self.partition}"


@dataclass(frozen=True, kw_only=True)
class Images(StoredSource, Reader, ImageSource, SplitByRecords):
    """Image files, decoded by the executors.

    Without a list, the subfolders of `path` are the classes, in the order of their names, and files
    are read in a fixed order that mixes classes. A list keeps its own order. Names that begin with
    "." are skipped. A class whose folder is empty keeps its number, as in Keras, and is logged;
    object stores have no empty folders, so a data set that lacks a class needs a list there.

    References
    ----------
    Caffe's ImageData, new_height and new_width; torchvision's ImageFolder.
    """

    path: PathName = option(
        Path(), "A folder, local or a URI; the same on every machine.", kw_only=False
    )
    list_file: str | None = option(
        Path(),
        'A text file with lines "name label", names below `path`, labels whole numbers.',
        default=None,
    )

    @property
    def paths(self) -> Collection[str]:  # type: ignore[override]
        return (self.path,) if self.list_file is None else (self.path, self.list_file)

    def stamped_paths(self) -> Collection[str]:
        """Returns the folder; or the list and the images that it names, wherever they lie."""
        if self.list_file is None:
            return self.paths
        root = files.absolute(self.path).rstrip("/")
        return [self.list_file, *(f"{root}/{name}" for name, _ in self.listing())]

    def classes(self) -> list[str]:
        """Returns the names of the sub-folders; a label is a position in this list.

        Sub-folders that begin with "_" are classes only if they hold images.
        """
        folders = [name for name in files.folders(self.path) if not files.is_dotted(name)]
        classes = [name for name in folders if name[0] != "_" or self._images_of(name)]
        if not classes:
            text = "must hold a folder for each class, but has none; a list_file may name files"
            raise DataError(f"{self.path}: {text}")
        return classes

    def listing(self) -> Any:
        """Returns [(name below the path, label)] of all records, in their order."""
        listing = self._of_folders() if self.list_file is None else self._of_list()
        if not listing:
            raise DataError(f"{self.list_file or self.path}: must name images, but has none")
        return listing

    def splits(self) -> list[Split]:
        """Returns a few files each. Lists folders, or reads the list, but no image."""
        root, listing = files.absolute(self.path).rstrip("/"), self.listing()
        bounds = split_bounds(len(listing), self.records_per_split)
        return [
            ImageFiles(
                partition=i,
                count=stop - start,
                path=root,
                names=tuple(name for name, _ in listing[start:stop]),
                labels=tuple(label for _, label in listing[start:stop]),
            )
            for i, (start, stop) in enumerate(bounds)
        ]

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of about 16 megabytes: features uint8 (n, C, H, W), labels (n,) int32."""
        images: list[np.ndarray] = []
        start = 0
        paths = [f"{split.path}/{name}" for name in split.names]
        with each_in_order(files.read, paths, ahead=THREADS) as contents:
            for path, content in zip(paths, contents, strict=True):
                images.append(self._image(path, content, images))
                if images[0].nbytes * len(images) >= BYTES_PER_BATCH:
                    yield batch_of(split, images, start)
                    start, images = start + len(images), []
        if images:
            yield batch_of(split, images, start)

    def names(self, split: Any) -> Collection[str]:
        """Returns the files of a split, below the path."""
        return split.names

    def _image(self, path, content, before):
        try:
            image = decode_image(content, self.channels, self.size, 0, self.exif_orientation)
        except Violation as offence:
            raise DataError(f"{path}: {offence}") from None
        if before and image.shape != before[0].shape:
            text = f"must have the shape {before[0].shape} of those before, got {image.shape}"
            raise DataError(f"{path}: {text}; size resizes them")
        return image

    def _of_folders(self):
        files.forget_listings([self.path])
        classes = self.classes()
        with each_in_order(self._images_of, classes, [self.path]) as names:
            found = dict(zip(classes, names, strict=True))
        if empty := [name for name, names in found.items() if not names]:
            tell_empty(self.path, tuple(empty))
        images = [(name, label) for label, names in enumerate(found.values()) for name in names]
        return [images[i] for i in permutation(0, n=len(images))]

    def _images_of(self, folder):
        """Returns the names, below the path, of the images in a folder."""
        root = files.absolute(self.path).rstrip("/")
        paths = files.tree(f"{root}/{folder}", files.is_dotted)
        return [path.removeprefix(f"{root}/") for path in paths if path.lower().endswith(ENDINGS)]

    def _of_list(self):
        content = files.read(self.list_file)
        try:
            lines = content.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise DataError(f"{self.list_file}: must be UTF-8: {error}") from None
        numbered = enumerate(lines, 1)
        return [self._list_files(line.strip(), number) for number, line in numbered if line.strip()]

    def _list_files(self, line, number):
        name, *label = line.rsplit(maxsplit=1)
        where = f"{self.list_file}, line {number}"
        try:
            value = int(*label or "?")
        except ValueError:
            raise DataError(f"{where}: must be a file and a whole number, got {line!r}") from None
        if not is_int32(value):
            raise DataError(f"{where}: labels must be whole numbers of int32, got {value}")
        return name.lstrip("/"), value


@cache
def tell_empty(path, classes):
    """Logs once which classes have no images, as a label without records may be a mistake."""
    log.warning("%s: no images are in the folders of the classes %s", path, [*classes])


def batch_of(split, images, start):
    labels = np.array(split.labels[start : start + len(images)], np.int32)
    ids = record_ids(split.partition, start, len(images))
    return Batch(columns={"features": np.stack(images), "labels": labels}, ids=ids)
