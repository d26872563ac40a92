"""Sources of files, as a run configuration says them: their fields are options of the reader."""

from dataclasses import dataclass, fields

import sparkdl.data as readers
from sparkdl.commands.data_conf.base import Stored


@dataclass(frozen=True, kw_only=True)
class Files(Stored, abstract=True):
    """Data that the reader of the same name in sparkdl.data reads."""

    def __post_init__(self):
        super().__post_init__()
        self.source()  # refuses bad options

    def source(self):
        common = {item.name for item in fields(Stored)}
        own = {item.name for item in fields(self)} - common
        options = {name: getattr(self, name) for name in own}
        return getattr(readers, self.type_name)(self.path, transform=self.transform, **options)


@dataclass(frozen=True, kw_only=True)
class AvroFiles(Files):
    """Avro's files of records; see sparkdl.data.AvroFiles."""

    features: str = "features"
    label: str | None = "label"
    content: str = "numbers"
    channels: str = "RGB"
    size: int | tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Cifar(Files):
    """CIFAR's binaries; see sparkdl.data.Cifar."""

    classes: int = 10


@dataclass(frozen=True, kw_only=True)
class Csv(Files):
    """Columns of text files; see sparkdl.data.Csv."""

    features: tuple[str | int, ...] | None = None
    label: str | int | None = "label"
    header: bool = True
    delimiter: str = ","


@dataclass(frozen=True, kw_only=True)
class HDF5(Files):
    """Datasets of HDF5 files; see sparkdl.data.HDF5."""

    features: str = "data"
    label: str | None = "label"


@dataclass(frozen=True, kw_only=True)
class Idx(Files):
    """MNIST's IDX files; see sparkdl.data.Idx."""

    label_path: str | None = None


@dataclass(frozen=True, kw_only=True)
class Images(Files):
    """Image files in folders of classes, or of a list; see sparkdl.data.Images."""

    list_file: str | None = None
    channels: str = "RGB"
    size: int | tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Parquet(Files):
    """Columns of Parquet files; see sparkdl.data.Parquet."""

    features: str = "features"
    label: str | None = "label"


@dataclass(frozen=True, kw_only=True)
class SequenceFiles(Files):
    """Hadoop's files of images, Datums or bytes; see sparkdl.data.SequenceFiles."""

    content: str = "images"
    label: bool = True
    channels: str = "RGB"
    size: int | tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class TFRecords(Files):
    """TensorFlow's files of Examples; see sparkdl.data.TFRecords."""

    features: str = "features"
    label: str | None = "label"
    content: str = "numbers"
    channels: str = "RGB"
    size: int | tuple[int, int] | None = None
