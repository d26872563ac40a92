"""Splits as tasks that run near their bytes, if executors run on the hosts of HDFS."""

import re
import warnings
from collections import Counter

from py4j.protocol import Py4JJavaError
from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.serializers import CPickleSerializer
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StructField, StructType

from sparkdl.data.hadoop import SCHEMES
from sparkdl.spark.jobs.job import message

NOBODY = ("localhost",)  # the host reported by file systems without blocks
OF_ONE_FILE = re.compile(r"\bFileNotFoundException\b|Permission denied")  # others concern all files
# hdfs://host, or hdfs: of the host in Hadoop's settings; a view has a system for each folder.
SYSTEM = re.compile(r"viewfs:(//[^/]*)?/+[^/]*|\w+:(//[^/]*)?")


def split_rdd(sc, splits):
    """Returns an RDD with one partition per split, which prefers the hosts of its bytes."""
    hosts = hosts_of(sc, splits)
    if not any(hosts):
        return sc.parallelize(splits, max(len(splits), 1))
    return parallelize_at(sc, splits, hosts)


def parallelize_at(sc, values, hosts):
    """Returns an RDD with one partition per value, which prefers these hosts or executors."""
    pickled = CPickleSerializer()
    return RDD(make_located_rdd(sc, list(map(pickled.dumps, values)), hosts, "[B"), sc, pickled)


def split_frame(spark, splits):
    """Returns a DataFrame of the splits, pickled in its only column."""
    sc, dumps = spark.sparkContext, CPickleSerializer().dumps
    rows = [(dumps(split),) for split in splits]
    located = make_located_rdd(sc, rows, hosts_of(sc, splits), "[Ljava.lang.Object;")
    schema = StructType([StructField("split", BinaryType(), False)])
    frame = spark._jsparkSession.applySchemaToPythonRDD(located.rdd(), schema.json())
    return DataFrame(frame, spark)


def splits_in(tables):
    """Yields, on an executor, the splits in Arrow tables of a `split_frame`."""
    for table in tables:
        yield from map(CPickleSerializer().loads, table.column(0).to_pylist())


def hosts_of(sc, splits):
    """Returns the hosts that hold the bytes of each split.

    The Hadoop client in the driver's JVM is asked once per file, with Spark's configuration and
    tokens.
    """
    blocks = {}
    return [
        preferred_hosts(split.spans(), lambda path: blocks_of(sc, path, blocks)) for split in splits
    ]


def preferred_hosts(spans, blocks_of):
    """Returns the hosts that hold at least half of the bytes, in descending order.

    Parameters
    ----------
    spans : list of (path, start, stop or None)
    blocks_of : function path -> [(start, stop, hosts)]
    """
    held, total = Counter(), 0
    for path, start, stop in spans:
        for first, end, hosts in blocks_of(path):
            inside = max(0, min(end, end if stop is None else stop) - max(first, start))
            total += inside
            held.update(dict.fromkeys(hosts, inside))
    ranking = sorted(held.items(), key=lambda item: (-item[1], item[0]))
    return [host for host, nbytes in ranking if nbytes and 2 * nbytes >= total]


def blocks_of(sc, path, known):
    """Returns [(start, stop, hosts)] of a file's blocks; [] if it is not on HDFS.

    A file system that does not answer is asked no more, as Hadoop's client may have tried for
    minutes. One that lacks a file, or may not show it, goes on to be asked for others.

    Parameters
    ----------
    known : dict
        {path or silent file system: blocks} so far.
    """
    if path.partition(":")[0] not in SCHEMES:
        return []
    system = SYSTEM.match(path)[0]
    if path not in known and system not in known:
        try:
            known[path] = ask_block_hosts(sc, path)
        except (Py4JJavaError, PySparkException) as error:  # pyspark makes its own of some
            silent = path if OF_ONE_FILE.search(str(error)) else system
            text = message(error).partition("\n")[0]
            warnings.warn(
                f"{silent}: Spark cannot say where its blocks lie, so tasks run anywhere: {text}",
                stacklevel=2,
            )
            known[silent] = []
    return known.get(path, [])


def ask_block_hosts(sc, path):
    place = sc._jvm.org.apache.hadoop.fs.Path(path)
    system = place.getFileSystem(sc._jsc.hadoopConfiguration())
    status = system.getFileStatus(place)
    return [
        (
            block.getOffset(),
            block.getOffset() + block.getLength(),
            [host for host in block.getHosts() if host not in NOBODY],
        )
        for block in system.getFileBlockLocations(status, 0, status.getLen())
    ]


def make_located_rdd(sc, items, hosts, kind):
    """Returns a JavaRDD of bytes, or of tuples as arrays, one per partition, with preferred hosts.

    Parameters
    ----------
    kind : str
        The items' class in the JVM.
    """
    jvm = sc._jvm
    seq, builder = jvm.PythonUtils.toSeq, scala_builder(jvm)
    known = {names: i for i, names in enumerate(dict.fromkeys(map(tuple, hosts)))}
    lists = seq([seq(list(names)) for names in known])
    numbers = [known[tuple(names)] for names in hosts]
    # A call per item would take seconds for thousands of them. A Seq is a function of an index.
    located = seq(send_to_jvm(jvm, numbers)).map(lists, *builder)
    pairs = seq(send_to_jvm(jvm, items)).zip(located, *builder).toSeq()
    tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName(kind))
    return sc._jsc.sc().makeRDD(pairs, tag).toJavaRDD()


def scala_builder(jvm):
    """Returns the last arguments of Scala collection methods: a builder before 2.13 (Spark 3)."""
    if jvm.scala.util.Properties.versionNumberString() >= "2.13":
        return ()
    return (getattr(getattr(jvm, "scala.collection.Seq$"), "MODULE$").canBuildFrom(),)


def send_to_jvm(jvm, values):
    """Returns a list as a JVM list, in one call."""
    return jvm.net.razorvine.pickle.Unpickler().loads(bytearray(CPickleSerializer().dumps(values)))
