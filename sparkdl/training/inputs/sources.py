"""Data of a network in this process: records, or a source of them."""

from typing import Any

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.type_names import kind_of, package_of
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.source import Source, check_batches
from sparkdl.errors import ConfigError
from sparkdl.training.inputs.schema import schema_of

Data = Batch | tuple[Any, Any] | Source
# Cures for data of packages that are not supported here.
COLUMNS = "give its columns as arrays: (df[names].to_numpy(), df[label].to_numpy())"
CURES = {"pandas": COLUMNS, "polars": COLUMNS, "pyspark": "SparkNetwork takes it"}


def as_source(data):
    """Returns a source from a Batch, a pair (features, labels), or a source."""
    if isinstance(data, Batch):
        return Arrays.of(data)
    if isinstance(data, tuple) and len(data) == 2:
        return Arrays(*data)
    if hasattr(data, "splits") and hasattr(data, "read"):
        return data
    cure = CURES.get(package_of(data))
    raise ConfigError(
        f"data must be a Batch, (features, labels) or a source, got {kind_of(data)}"
        f"{f'; {cure}' if cure else ''}"
    )


class CheckedBatches:
    """The Batches of a source, checked for a network; can be iterated several times."""

    def __init__(self, conf, source, changes=()):
        self.schema = schema_of(conf, transform=source.transform, changes=changes)
        self.source = source

    def __iter__(self):
        for split in self.source.splits():
            yield from check_batches(self.source.read, split, self.schema)
