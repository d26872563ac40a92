"""Data sets with options of their own, as a run configuration says them."""

from dataclasses import dataclass

import sparkdl.data as readers
from sparkdl.commands.data_conf.base import DataConf, Stored
from sparkdl.data import Arrays, Characters, TextSequences, digits
from sparkdl.data.digits import PARTS
from sparkdl.errors import require


@dataclass(frozen=True, kw_only=True)
class Digits(DataConf):
    """The sample of handwritten digits inside the package.

    Parameters
    ----------
    part : str
        "train", 8,000 digits, or "test", 2,000 others.
    records : int or None
        Take the first so many only.
    """

    part: str = "train"
    records: int | None = None
    scale: float = 1 / 255

    def __post_init__(self):
        super().__post_init__()
        require(self, "part", self.part in PARTS, f"one of {list(PARTS)}")
        sound = self.records is None or (isinstance(self.records, int) and self.records >= 1)
        require(self, "records", sound, "an integer >= 1 or None")

    def source(self):
        batch = digits(self.part).take(slice(0, self.records))
        return Arrays.of(batch, transform=self.transform)


@dataclass(frozen=True, kw_only=True)
class LMDB(Stored):
    """A database of Caffe's Datums, or a list of such; see sparkdl.data.LMDB."""

    path: str | tuple[str, ...]
    size: int | tuple[int, int] | None = None

    @property
    def paths(self):
        return self.path if isinstance(self.path, tuple) else (self.path,)

    def source(self):
        options = {"scale": self.scale, "mean": self.mean, "size": self.size}
        return readers.LMDB(self.path, transforms=self._transforms(), **options)


@dataclass(frozen=True, kw_only=True)
class Text(Stored):
    """A text file in sequences of characters; see sparkdl.data.TextSequences.

    Parameters
    ----------
    characters : str or None
        Path of an alphabet that Characters.save wrote. None: the characters of the file.
    """

    characters: str | None = None
    steps: int = 50
    stride: int | None = None
    part: tuple[float, float] = (0.0, 1.0)
    one_hot: bool = True

    def __post_init__(self):
        super().__post_init__()
        require(self, "scale", self.scale == 1 and not self.mean, "1, and mean not given, for text")
        require(self, "transforms", not self.transforms, "empty for text")
        self._source(Characters("a"))  # refuses bad options

    def source(self):
        if self.characters is None:
            return self._source(Characters.of_file(self.path))
        return self._source(Characters.load(self.characters))

    def _source(self, characters):
        names = ("steps", "stride", "part", "one_hot")
        return TextSequences(self.path, characters, **{name: getattr(self, name) for name in names})
