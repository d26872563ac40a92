"""Records of a test net, in minibatches of the size given by its data layer."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from sparkdl.data import LMDB, Schema
from sparkdl.data.batches.batch import position
from sparkdl.data.batches.blocks import blocks
from sparkdl.data.readers.tables.dataframes import DataFrames
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe import source_of
from sparkdl.interop.caffe.evaluation.blob_values import Blobs
from sparkdl.interop.caffe.solvers.caffe_solver import data_of
from sparkdl.training.inputs.minibatch import prepare_minibatch
from sparkdl.training.inputs.schema import schema_of

LEAST = 256  # default records per split


@dataclass(frozen=True, kw_only=True)
class RecordReading:
    """How an executor reads a split and prepares its minibatches; sent to executors.

    Parameters
    ----------
    read, transform : those of a source
    names : function split -> the records' names, or None
    schema : Schema
    size : int
        Examples per minibatch.
    blobs : Blobs
    """

    read: Callable
    transform: Any
    names: Callable | None
    schema: Schema
    size: int
    blobs: Blobs

    def batches(self, split):
        """Yields minibatches ready for the network; the last one may be smaller."""
        for batch in blocks(self._check_shapes(split), self.size):
            yield prepare_minibatch(batch, self.transform, self.blobs.net.conf)

    def identify(self, split):
        """Yields (record names, minibatch): keys or file names if the source has them, else ids."""
        names = None if self.names is None else self.names(split)
        for batch in self.batches(split):
            if names is None:
                yield [str(one) for one in batch.ids.tolist()], batch
            else:
                yield [names[position(one)] for one in batch.ids], batch

    def _check_shapes(self, split):
        for batch in self.read(split):
            checked = self.schema.check(batch, str(split))
            asked = set(self.blobs.columns.values())
            unread = asked & batch.columns.keys() - checked.columns.keys()
            yield checked.replace(**{name: batch.columns[name] for name in unread})


def reading_of(source, net, blobs):
    """Returns the RecordReading of a source for a test net."""
    return RecordReading(
        read=source.read,
        transform=source.transform,
        names=getattr(source, "names", None),
        schema=schema_of(net.conf, transform=source.transform),
        size=batch_size(net),
        blobs=blobs,
    )


def batch_size(net):
    return data_of(net).batch_size or 1


def source_for(net, resize=False, partitions=None):
    """Returns the source for a net's data layer.

    Parameters
    ----------
    resize : bool
        Whether images are resized to the height and width of the data layer, or else to the net's.
    partitions : int or None
        Number of splits of an LMDB. None: splits of some hundred records.
    """
    data = data_of(net)
    source, options = source_of(data), {item.name for item in fields(source_of(data))}
    if isinstance(source, DataFrames):  # its images always have the size that the layer says
        return source
    if resize and "size" not in options:
        raise ConfigError(f"-resize is for images, not for {type(source).__name__}")
    if resize:
        source = replace(source, size=size_of(net))
    if "records_per_split" not in options:
        return source
    count = LEAST
    if isinstance(source, LMDB):
        counts = [split.count for split in source.splits()]
        count = counts[0] if partitions is None else -(-sum(counts) // partitions)
    return replace(source, records_per_split=-(-count // batch_size(net)) * batch_size(net))


def size_of(net):
    """Returns the height and width given by a data layer, else those of the net's images."""
    data = data_of(net)
    options = data.layer.memory_data_param
    if options.height and options.width:
        return options.height, options.width
    shape = next(iter(data.shapes.values()))
    if len(shape) != 3:
        raise ConfigError(f"-resize is for images (C, H, W), got records of {shape}")
    return shape[1:]
