"""Stages on disk: pyspark.ml's metadata, next to directories written by Network.save.

Both go through Spark, so paths mean what they mean to Spark: one without a scheme is on the default
file system, which is reached as Hadoop's own configuration says.
"""

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import SparkSession

from sparkdl.errors import CheckpointError
from sparkdl.spark.connect.sessions import is_connect, unsupported
from sparkdl.training.network import Network

NETWORK = "network"  # folder of a network, in that of its stage
ABOUT = "sparkdl"  # our own key in the metadata
OF_PROCESS = ("listeners", "resources")  # Params whose values exist only in this process


class SavedStage(MLWritable, MLReadable[Any]):
    """An estimator or a model that StageWriter writes and StageReader reads."""

    def write(self) -> "StageWriter":
        """Returns a writer: `stage.write().overwrite().save(path)`."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Returns a reader: `Class.read().load(path)`, or shorter `Class.load(path)`."""
        return StageReader(cls)


class StageWriter(MLWriter):
    """Writes an estimator or a model.

    A stage provides `networks_to_write()`, a list of Network, and `about()`, further JSON values to
    keep.
    """

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self.stage = stage

    def save(self, path: str) -> None:
        """Writes the stage to a new folder, or replaces an existing one after `overwrite`."""
        require_files(self.sparkSession)
        super().save(path)

    def saveImpl(self, path: str) -> None:
        stage = self.stage
        about = {"class": public_name(type(stage)), ABOUT: stage.about()}
        DefaultParamsWriter.saveMetadata(stage, path, self.sc, about, values_to_write(stage))
        for number, network in enumerate(stage.networks_to_write()):
            write_network(self.sparkSession, network, place_of(path, number))


class StageReader(MLReader[Any]):
    """Reads a stage written by StageWriter.

    Its class provides `from_saved(network, about)`, which makes the stage: `network(number)` reads
    one of the networks, by default the first.
    """

    def __init__(self, cls: type) -> None:
        super().__init__()
        self.cls: Any = cls

    def load(self, path: str) -> Any:
        """Returns the stage; raises CheckpointError if it is of another class, or damaged."""
        require_files(self.sparkSession)
        metadata = DefaultParamsReader.loadMetadata(path, self.sc)
        if metadata["class"] not in (public_name(self.cls), earlier_name(self.cls)):
            raise CheckpointError(
                f"{path} must hold a {public_name(self.cls)}, got a {metadata['class']}"
            )

        def network(number=0):
            return read_network(self.sparkSession, place_of(path, number))

        stage = self.cls.from_saved(network, metadata[ABOUT])
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        return stage


def values_to_write(stage: Any) -> dict[str, Any]:
    """Returns {name: value} of the Params that were set, for JSON."""
    given = {p.name: v for p, v in stage._paramMap.items() if p.name not in OF_PROCESS}
    return {n: v for n, v in given.items() if not isinstance(v, SavedStage)}


def require_files(spark: SparkSession) -> None:
    """Raises UnsupportedError if Spark's file systems cannot be reached."""
    if is_connect(spark):
        cure = "its client reaches no file system of Hadoop; model.network.save(path) writes here"
        raise unsupported("reading and writing stages", cure)


def public_name(cls: type) -> str:
    """Returns the name under which a class is imported: one of ours that users know from the part
    that it is in, others from their own module.
    """
    module, name = cls.__module__, cls.__name__
    part = module.rpartition(".")[0]
    of_part = module.startswith("sparkdl.") and name in import_module(part).__all__
    return f"{part if of_part else module}.{name}"


def earlier_name(cls: type) -> str:
    """Returns the name under which subclasses were once saved, without the end of their module."""
    return f"{cls.__module__.rpartition('.')[0]}.{cls.__name__}"


def place_of(path: str, number: int) -> str:
    """Returns the folder of one of a stage's networks."""
    return f"{path}/{NETWORK}-{number}" if number else f"{path}/{NETWORK}"


def write_network(spark: SparkSession, network: Network, path: str) -> None:
    """Writes a Network to a new folder on any file system that Spark knows."""
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder, NETWORK)
        network.save(local)
        target, system = hadoop_path(spark, path)
        system.copyFromLocalFile(False, False, hadoop_path(spark, local.as_uri())[0], target)


def read_network(spark: SparkSession, path: str) -> Network:
    """Returns the Network written by `write_network`."""
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder, NETWORK)
        source, system = hadoop_path(spark, path)
        if not system.exists(source):
            raise CheckpointError(f"{path}: there is no such model")
        system.copyToLocalFile(False, source, hadoop_path(spark, local.as_uri())[0], True)
        return Network.load(local)


def hadoop_path(spark: SparkSession, path: str) -> Any:
    """Returns a path as a Hadoop Path, and its file system."""
    jvm: Any = spark.sparkContext._jvm
    found = jvm.org.apache.hadoop.fs.Path(path)
    return found, found.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
