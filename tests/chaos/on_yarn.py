"""Fits on YARN that read from and save to HDFS, each with one Hadoop or worker fault."""

import os
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from sparkdl.data import Batch, Parquet, files, write_parquet
from sparkdl.errors import SparkdlError
from sparkdl.spark.session import session
from sparkdl.training.saving.checkpoint import Checkpoints, list_checkpoints, load_checkpoint
from tests.chaos.hadoop_faults import DATA, HADOOP_FAULTS, KEPT, HadoopDaemons
from tests.chaos.local_cluster import RECORDS, LocalCluster
from tests.chaos.process_faults import PROCESS_FAULTS
from tests.cluster.hdfs import Hdfs
from tests.cluster.yarn import Yarn
from tests.conftest import SMALL
from tests.spark.networks import data

ROOT = Path(__file__).resolve().parents[2]
FAULTS = HADOOP_FAULTS | {
    name: lambda _, worker, do=do: do(worker)
    for name, do in PROCESS_FAULTS.items()
    if name != "all executors killed"  # they have no parent in common
}
EXECUTORS = {
    "spark.executor.instances": 2,
    "spark.executor.cores": 1,
    "spark.executor.memoryOverhead": "1g",
    "spark.executorEnv.PYTHONPATH": ROOT,
    "spark.executor.maxNumFailures": 1000,  # else Spark ends after four
}


@contextmanager
def on_yarn(only=tuple(FAULTS)):
    """Yields OnYarn with these faults; on exit, all daemons have ended."""
    with tempfile.TemporaryDirectory() as folder:
        hdfs = Hdfs(Path(folder, "hadoop")).start()
        try:
            yarn = Yarn(hdfs).start()
            os.environ.update(yarn.environment)
            try:
                with session("yarn", SMALL | EXECUTORS, name="chaos") as spark:
                    yield OnYarn(spark.sparkContext, HadoopDaemons(hdfs, yarn), only)
            finally:
                yarn.stop()
        finally:
            hdfs.stop()


class OnYarn(LocalCluster):
    """A SparkContext's cluster on YARN, and faults of its daemons and workers."""

    def __init__(self, sc, hadoop, only):
        super().__init__(sc, {name: partial(FAULTS[name], hadoop) for name in only})
        self.hadoop, self.uri = hadoop, hadoop.hdfs.uri

    def fit(self, name, kind, transform):
        self.hadoop.limit_bytes(None)
        for path in (DATA, KEPT):
            files.remove(f"{self.uri}{path}")
        x, y = data(RECORDS)
        parts = [Batch.of(x[at : at + 25], y[at : at + 25], start=at) for at in (0, 25, 50)]
        for number, part in enumerate(parts):
            write_parquet(f"{self.uri}{DATA}/{number}", [part])
        return super().fit(name, kind, transform)

    def source(self, transform):
        return {"data": Parquet(f"{self.uri}{DATA}", transform=transform)}

    def shuffle(self, transform):
        frame = SparkSession.builder.getOrCreate().read.parquet(f"{self.uri}{DATA}")
        return {"data": frame.repartition(4), "transform": transform}

    def options(self):
        return {"checkpoints": Checkpoints(path=f"{self.uri}{KEPT}", every_rounds=2)}

    def after_turn(self):
        """Restarts ended daemons; returns what is wrong with the checkpoints."""
        self.hadoop.heal()
        self.hadoop.limit_bytes(None)
        kept = f"{self.uri}{KEPT}"
        if not list_checkpoints(kept):
            return []
        try:
            load_checkpoint(kept)
        except SparkdlError as error:
            return [f"no checkpoint is whole: {error}"]
        hidden = [name for name in files.list(kept) if name.startswith(".")]
        return [f"left on HDFS: {hidden}"] if hidden else []
