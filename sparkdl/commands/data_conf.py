"""Where records come from, as a run configuration says it: {type: LMDB, path: ..., scale: ...}."""

from dataclasses import dataclass

import sparkdl.data as readers
from sparkdl.data import Arrays, Characters, Scale, TextSequences, digits, files
from sparkdl.data.digits import PARTS
from sparkdl.data.transforms import TRANSFORMS, in_order
from sparkdl.errors import ConfigError, DataError, require
from sparkdl.nn import text
from sparkdl.nn.checks import is_number
from sparkdl.nn.config import Member, build, nearest, plain


@dataclass(frozen=True, kw_only=True)
class DataConf(Member):
    """A data set by type and options; the family of Digits, LMDB, Parquet and Text.

    Parameters
    ----------
    transforms : sequence of mappings
        What is done to each minibatch, in this order: {type: Crop, size: 224}, {type: Mirror};
        those of sparkdl.data.
    scale, mean : float, float or tuple of float
        Then features become (x - mean) * scale; mean has one number for all, or one a channel.
    """

    transforms: tuple = ()
    scale: float = 1.0
    mean: float | tuple[float, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        require(self, "scale", is_number(self.scale) and self.scale != 0, "a number, not 0")
        mean = self.mean if isinstance(self.mean, tuple) else (self.mean,)
        require(self, "mean", all(map(is_number, mean)), "a number, or one for each channel")
        object.__setattr__(self, "mean", mean)
        listed = isinstance(self.transforms, tuple)
        require(self, "transforms", listed, "a list of mappings, each with a type")
        self._transforms()  # refuses what it cannot be

    @property
    def transform(self):
        """All that is asked for as one transform, or None."""
        return in_order(self._transforms(), Scale(factor=self.scale, mean=self.mean))

    def _transforms(self):
        return [transform_of(written) for written in self.transforms]

    def check(self):
        """Raise DataError if the data is not there; reads none of it."""

    def source(self):
        """The data as a Source."""
        raise NotImplementedError


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
class Stored(DataConf, abstract=True):
    """Data at a path.

    Parameters
    ----------
    path : str
        The same on every machine.
    """

    path: str

    def __post_init__(self):
        super().__post_init__()
        require(self, "path", isinstance(self.path, str) and self.path, "a path")

    def check(self):
        if not files.exists(self.path):
            raise DataError(f"{self.path}: there is no such file or folder")


@dataclass(frozen=True, kw_only=True)
class LMDB(Stored):
    """A database of Caffe's Datums; see sparkdl.data.LMDB."""

    def source(self):
        options = {"scale": self.scale, "mean": self.mean}
        return readers.LMDB(self.path, transforms=self._transforms(), **options)


@dataclass(frozen=True, kw_only=True)
class Parquet(Stored):
    """Columns of Parquet files; see sparkdl.data.Parquet."""

    features: str = "features"
    label: str | None = "label"

    def source(self):
        options = {"features": self.features, "label": self.label}
        return readers.Parquet(self.path, transform=self.transform, **options)


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


def transform_of(written):
    """The transform that {type: its class, option: value ...} says."""
    kind = written.get("type") if isinstance(written, dict) else None
    if kind not in TRANSFORMS:
        hint = nearest(kind, TRANSFORMS)
        known = ", ".join(sorted(TRANSFORMS))
        raise ConfigError(f"a transform's type must be one of {known}, got {kind!r}{hint}")
    options = {name: plain(value) for name, value in written.items() if name != "type"}
    return build(TRANSFORMS[kind], options)


def parse_data(written):
    """A DataConf from the command line: "Digits", or "{type: LMDB, path: digits_lmdb}"."""
    if not written.lstrip().startswith("{"):
        return DataConf.from_dict({"type": written})
    return DataConf.from_dict(text.from_yaml(written))
