"""What a network takes of a record."""

from dataclasses import dataclass

from sparkdl.data.batch import Batch, position
from sparkdl.data.columns import Offence, class_column, feature_column, value_column
from sparkdl.data.readers.rows import read_records
from sparkdl.errors import DataError, require

LABEL_KINDS = ("class", "values", None)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Shape and kind of the features and labels of one example.

    Parameters
    ----------
    features : tuple of int
        Shape of the features as they are stored, (C, H, W) for images, (F,) for rows; None stands
        for a size that is free, since a transform brings it to the network's.
    labels : str or None
        "class": one of `label_size` classes, stored as int32. "values": `label_size` numbers,
        stored as float32 (label_size,). None: no labels are wanted, and any there are dropped.
    label_size : int
        Number of classes or of values.
    ignored : int or None
        A class label that may stand for none of the classes.
    """

    features: tuple[int, ...]
    labels: str | None = None
    label_size: int = 1
    ignored: int | None = None

    def __post_init__(self):
        object.__setattr__(self, "features", tuple(self.features))
        sizes = [n for n in self.features if n is not None]
        sound = self.features and all(isinstance(n, int) and n >= 1 for n in sizes)
        require(self, "features", sound, "a shape of integers >= 1")
        require(self, "labels", self.labels in LABEL_KINDS, f"one of {LABEL_KINDS}")
        sound = isinstance(self.label_size, int) and self.label_size >= 1
        require(self, "label_size", sound, "an integer >= 1")

    def records(self, iterator, partition, size=1024, *, features="features", label="label"):
        """Batches of `size` checked records from an iterator over records of any kind.

        A record is a (features, label) pair, a Row or dict with the columns `features` and
        `label`, a LabeledPoint, or, where no labels are wanted, bare features. Features may be
        numpy arrays, lists, scipy sparse rows, pyspark vectors or bytes.

        Raises
        ------
        DataError
            For the first record that does not fit: "partition 1, record 17: features must have
            784 numbers, got 700".
        """
        return read_records(self, iterator, partition, size, features, label)

    def check(self, batch, where):
        """The batch as the network takes it: columns converted, checked, others left out.

        Raises
        ------
        DataError
            For the first record that does not fit, named by `where` and its position.
        """
        try:
            columns = self.convert(*(self._column(batch, name, where) for name in self._names))
        except Offence as offence:
            record = position(batch.ids[offence.row]) if len(batch) else 0
            raise DataError(f"{where}, record {record}: {offence}") from None
        return Batch(columns=columns, ids=batch.ids)

    def convert(self, features, labels=None):
        """Columns from raw arrays (n, ...) of features and labels. Raises Offence."""
        columns = {"features": feature_column(features, self.features)}
        if self.labels is not None:
            columns["labels"] = self._labels(labels)
        return columns

    def _labels(self, labels):
        if self.labels == "class":
            return class_column(labels, self.label_size, self.ignored)
        return value_column(labels, self.label_size)

    @property
    def _names(self):
        return ("features",) if self.labels is None else ("features", "labels")

    def _column(self, batch, name, where):
        if name not in batch.columns:
            raise DataError(f"{where}: has no column {name!r}; columns are {list(batch.columns)}")
        return batch.columns[name]
