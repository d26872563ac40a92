"""Classes of the JVMs of the tests, kept on disk as a JVM has them in memory.

Finding, reading and checking ten thousand classes is half of what a short-lived Spark costs. A JVM
that is told of the archive maps it instead, if its class path begins as that of the archive; else
it starts as ever.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".pytest_cache" / "java"  # for later runs too
MAKING = [sys.executable, "-m", __name__]
LIMIT = 600.0  # seconds for it to be made, on a busy machine
JARS = f"{_find_spark_home()}/jars/*"  # must be the first part of a JVM's class path


def place():
    """The archive's file: another one for another Java, other jars, or other classes to load."""
    parts = [java(), JARS, *map(changed, (java(), JARS[:-1])), Path(__file__).read_bytes()]
    return FOLDER / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.jsa"


def java():
    """The program that Spark starts, without links; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(f"{home}/bin/java" if home else "java")
    return found and os.path.realpath(found)


def changed(path):
    """When a file or folder was last written; None if it is not there."""
    return os.stat(path).st_mtime_ns if path and os.path.exists(path) else None


def begin():
    """A Popen that makes the archive, beside the tests; None where it is there or being made."""
    if java() is None:
        return None
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as held:
        try:  # which the new process has too: whoever else wants to make it, until that has ended
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        for left in FOLDER.glob("*.part"):  # by one that was killed
            left.unlink()
        if place().exists():
            return None
        for old in FOLDER.glob("*.jsa"):
            old.unlink()
        own = os.environ | {"PYTHONPATH": str(ROOT)}
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        return subprocess.Popen(MAKING, env=own, pass_fds=[held.fileno()], **quiet)


def end(making):
    """Waits for what `begin` has started, as long as that may take."""
    try:
        making.wait(LIMIT)
    except subprocess.TimeoutExpired:
        making.kill()
        making.wait()


def main():
    """Make the archive, from what one Spark loads."""
    part = place().with_suffix(f".{os.getpid()}.part")
    try:
        use_spark(part)
        part.replace(place())
    finally:
        part.unlink(missing_ok=True)


def use_spark(part):
    """Do what tests have Spark do; its JVM writes the archive as it ends."""
    from sparkdl.spark.session import session
    from tests.support.jvm import SMALL
    from tests.support.jvm_end import end_jvm

    options = {
        "spark.driver.extraClassPath": JARS,
        "spark.driver.extraJavaOptions": f"{SMALL} -XX:ArchiveClassesAtExit={part}",
    }
    with session("local[2]", options, name="classes") as spark:
        for name in ELSEWHERE:
            spark._jvm.java.lang.Class.forName(name)
        use_records(spark.sparkContext)
        with tempfile.TemporaryDirectory() as folder:
            use_frames(spark, folder)
    end_jvm()


ELSEWHERE = [  # what a driver of local[2] does without
    "org.apache.spark.deploy.master.Master",
    "org.apache.spark.deploy.worker.Worker",
    "org.apache.spark.deploy.yarn.ApplicationMaster",
    "org.apache.spark.deploy.yarn.YarnAllocator",
    "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    "org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend",
    "org.apache.hadoop.hdfs.DistributedFileSystem",
]


def use_records(sc):
    rows = sc.parallelize(range(8), 2).map(lambda number: (number % 2, number)).persist()
    rows.groupByKey(2).mapValues(sum).collect()
    rows.barrier().mapPartitions(lambda part: part).collect()
    sc.broadcast(b"").value  # noqa: B018


def use_frames(spark, folder):
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import functions

    rows = [(float(n), [float(n)], Vectors.dense(n), bytes([n])) for n in range(8)]
    frame = spark.createDataFrame(rows, ["number", "array", "vector", "bytes"])
    frame.write.parquet(f"{folder}/parquet")
    read = spark.read.parquet(f"{folder}/parquet").repartition(3)
    read.groupBy("number").agg(functions.count("array")).orderBy("number").collect()
    read.mapInArrow(lambda parts: parts, read.schema).collect()
    read.rdd.map(tuple).collect()
    read.select("number").write.csv(f"{folder}/csv")
    spark.read.csv(f"{folder}/csv", inferSchema=True).toPandas()
    stream = spark.readStream.schema(read.schema).parquet(f"{folder}/parquet").writeStream
    query = stream.foreachBatch(lambda batch, number: batch.collect())
    query.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
