"""Reader of image files: one sub-folder per class, or a list of files and labels."""

import logging
import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

import numpy as np

from sparkdl.config import Path, dataclass, option
from sparkdl.config.field_types import PathName
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.batches.blocks import permutation
from sparkdl.data.batches.columns import Violation, is_int32, parse_number
from sparkdl.data.ordered_calls import THREADS, each_in_order
from sparkdl.data.readers.core.base import ImageSource, Reader, SplitByRecords, StoredSource
from sparkdl.data.readers.core.file_ranges import tell_left_out
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
    labels: tuple[int, ...] | tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return f"{self.path}, partition {self.partition}"


@dataclass(frozen=True, kw_only=True)
class Images(StoredSource, Reader, ImageSource, SplitByRecords):
    """Image files, decoded by the executors.

    Without a list, the subfolders of `path` are the classes, in the order of their names, and files
    are read in a fixed order that mixes classes. A list keeps its own order. Names that begin with
    "." are skipped; files whose names do not end like an image's are skipped and logged. A class
    whose folder is empty keeps its number, as in Keras, and is logged; object stores have no empty
    folders, so a data set that lacks a class needs a list there.

    References
    ----------
    Caffe's ImageData, new_height and new_width; torchvision's ImageFolder.
    """

    path: PathName = option(
        Path(), "A folder, local or a URI; the same on every machine.", kw_only=False
    )
    list_file: str | None = option(
        Path(),
        'A text file with lines "name label", names below `path`, labels whole numbers. Several '
        'labels, as many in each line, may follow a name with the ending of an image: "cat.jpg 1 0 '
        '3".',
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
        """Returns [(name below the path, label)] of all records, in their order.

        Several labels of a record are a tuple.
        """
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
        """Yields Batches of about 16 megabytes: features uint8 (n, C, H, W), labels int32.

        Labels are (n,); (n, k) where a list has k of them in each line.
        """
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
        with each_in_order(self._files_of, classes, [self.path]) as names:
            each = dict(zip(classes, names, strict=True))
        found = {name: [one for one in names if is_image(one)] for name, names in each.items()}
        if others := [one for names in each.values() for one in names if not is_image(one)]:
            tell_left_out(self.path, ENDINGS, len(others), others[0])
        if empty := [name for name, names in found.items() if not names]:
            tell_empty(self.path, tuple(empty))
        images = [(name, label) for label, names in enumerate(found.values()) for name in names]
        return [images[i] for i in permutation(0, n=len(images))]

    def _images_of(self, folder):
        """Returns the names, below the path, of the images in a folder."""
        return [*filter(is_image, self._files_of(folder))]

    def _files_of(self, folder):
        """Returns the names, below the path, of the files in a folder."""
        root = files.absolute(self.path).rstrip("/")
        paths = files.tree(f"{root}/{folder}", files.is_dotted)
        return [path.removeprefix(f"{root}/") for path in paths]

    def _of_list(self):
        content = files.read(self.list_file)
        try:
            lines = content.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise DataError(f"{self.list_file}: must be UTF-8: {error}") from None
        numbered = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
        listed = [self._list_files(line, number) for number, line in numbered]
        counts = [len(labels) if isinstance(labels, tuple) else 1 for _, labels in listed]
        for count, (number, line) in zip(counts, numbered, strict=True):
            if count != counts[0]:
                raise DataError(
                    f"{self.list_file}, line {number}: must have as many labels as those before, "
                    f"{counts[0]}, got {line!r}"
                )
        return listed

    def _list_files(self, line, number):
        """Returns the name and label of a line, or a tuple of its labels."""
        name, labels = split_line(line)
        where = f"{self.list_file}, line {number}"
        try:
            values = tuple(parse_number(label, int) for label in labels or "?")
        except ValueError:
            raise DataError(f"{where}: must be a file and whole numbers, got {line!r}") from None
        for value in values:
            if not is_int32(value):
                raise DataError(f"{where}: labels must be whole numbers of int32, got {value}")
        return name.lstrip("/"), values if len(values) > 1 else values[0]


def is_image(name):
    """Returns whether a file's name ends like that of an image."""
    return name.lower().endswith(ENDINGS)


def split_line(line):
    """Returns the name in a line of a list, which may hold spaces, and the texts of its labels.

    Labels follow the last word with the ending of an image; without one, a line has one label.
    """
    name, *label = line.rsplit(maxsplit=1)
    if name.lower().endswith(ENDINGS):
        return name, label
    words = re.split(r"(\s+)", line)  # with the spaces between
    names = [i for i, word in enumerate(words) if word.lower().endswith(ENDINGS)]
    labels = words[names[-1] + 2 :: 2] if names else []
    if labels and all(re.fullmatch(r"[-+]?\d+", text) for text in labels):
        return "".join(words[: names[-1] + 1]), labels
    return name, label


@cache
def tell_empty(path, classes):
    """Logs once which classes have no images, as a label without records may be a mistake."""
    log.warning("%s: no images are in the folders of the classes %s", path, [*classes])


def batch_of(split, images, start):
    labels = np.array(split.labels[start : start + len(images)], np.int32)
    ids = record_ids(split.partition, start, len(images))
    return Batch(columns={"features": np.stack(images), "labels": labels}, ids=ids)
