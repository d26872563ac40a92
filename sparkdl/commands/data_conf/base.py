"""What data sets have in common, as a run configuration says them."""

from dataclasses import dataclass

from sparkdl.config import Member, text
from sparkdl.data import Scale, files
from sparkdl.data.transforms import Transform, in_order
from sparkdl.errors import DataError, require
from sparkdl.nn.checks import is_number


@dataclass(frozen=True, kw_only=True)
class DataConf(Member):
    """A data set by type and options; the family of Digits, LMDB, Parquet and others.

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
        return [Transform.from_dict(written) for written in self.transforms]

    def check(self):
        """Raise DataError if the data is not there; reads none of it."""

    def source(self):
        """The data as a Source."""
        raise NotImplementedError


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
        sound = self.paths and all(isinstance(path, str) and path for path in self.paths)
        require(self, "path", sound, "a path")

    @property
    def paths(self):
        """That path, or all, for data sets that may have several."""
        return (self.path,)

    def check(self):
        for path in self.paths:
            if not files.exists(path):
                raise DataError(f"{path}: there is no such file or folder")


def parse_data(written):
    """A DataConf from the command line: "Digits", or "{type: LMDB, path: digits_lmdb}"."""
    if not written.lstrip().startswith("{"):
        return DataConf.from_dict({"type": written})
    return DataConf.from_dict(text.from_yaml(written))
