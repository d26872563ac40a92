"""Splits as tasks that run near their bytes, if executors run on the hosts of HDFS."""

import math
import re
import warnings
from collections import Counter
from itertools import chain
from operator import itemgetter

from py4j.protocol import Py4JJavaError
from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.serializers import CPickleSerializer
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StructField, StructType

from sparkdl.data.hadoop import SCHEMES
from sparkdl.data.source import SMALLEST_SPLIT, is_own_class
from sparkdl.spark.jobs.job import message

FEWEST_TASKS = 256  # below that each split is a task
SMALLEST_RANGE = 2**20  # bytes of a usual split
NOBODY = ("localhost",)  # the host reported by file systems without blocks
OF_ONE_FILE = re.compile(r"\bFileNotFoundException\b|Permission denied")  # others concern all files
# hdfs://host, or hdfs: of the host in Hadoop's settings; a view has a system for each folder.
SYSTEM = re.compile(r"viewfs:(//[^/]*)?/+[^/]*|\w+:(//[^/]*)?")


def split_rdd(sc, splits):
    """Returns an RDD of the splits, in order; see `numbered_rdd`."""
    return numbered_rdd(sc, splits).map(itemgetter(1))


def numbered_rdd(sc, splits):
    """Returns an RDD of (number, split), in order.

    A partition has the splits of one of `tasks_of`, and prefers the hosts of their bytes.
    """
    tasks = tasks_of(splits)
    numbers, hosts = iter(range(len(splits))), hosts_of(sc, tasks)
    each = [[(next(numbers), split) for split in task] for task in tasks]
    if any(hosts):
        return parallelize_at(sc, each, hosts).flatMap(list)
    return sc.parallelize(each, max(len(each), 1)).flatMap(list)


def tasks_of(splits):
    """Returns the splits as lists of consecutive ones, each list for one task.

    Where there are over FEWEST_TASKS splits, a task reads several small ones, together no larger
    than a usual split. The lists depend on the splits alone: sums of the tasks' results are the
    same on any cluster.
    """
    most, tasks, size = math.ceil(len(splits) / FEWEST_TASKS), [], math.inf
    for split in splits:
        its = size_of(split)
        if size + its > 1 or len(tasks[-1]) == most:
            tasks.append([])
            size = 0
        tasks[-1].append(split)
        size += its
    return tasks


def size_of(split):
    """Returns the size of a split as a share of a usual one.

    Infinite if it does not say it, or is of a user's class: its reading may take any time.
    """
    if not is_own_class(split):
        return math.inf
    spans = split.spans()
    if spans and all(stop is not None for *_, stop in spans):
        return sum(stop - start for _, start, stop in spans) / SMALLEST_RANGE
    return math.inf if split.count is None else split.count / SMALLEST_SPLIT


def parallelize_at(sc, values, hosts):
    """Returns an RDD with one partition per value, which prefers these hosts or executors."""
    pickled = CPickleSerializer()
    return RDD(make_located_rdd(sc, list(map(pickled.dumps, values)), hosts, "[B"), sc, pickled)


def split_frame(spark, splits):
    """Returns a DataFrame of the splits; its only column has those of a task, pickled."""
    sc, dumps, tasks = spark.sparkContext, CPickleSerializer().dumps, tasks_of(splits)
    rows = [(dumps(task),) for task in tasks]
    located = make_located_rdd(sc, rows, hosts_of(sc, tasks), "[Ljava.lang.Object;")
    schema = StructType([StructField("split", BinaryType(), False)])
    frame = spark._jsparkSession.applySchemaToPythonRDD(located.rdd(), schema.json())
    return DataFrame(frame, spark)


def splits_in(tables):
    """Yields, on an executor, the splits in Arrow tables of a `split_frame`."""
    for table in tables:
        yield from chain.from_iterable(map(CPickleSerializer().loads, table.column(0).to_pylist()))


def hosts_of(sc, tasks):
    """Returns the hosts that hold the bytes of each list of splits.

    The Hadoop client in the driver's JVM is asked once per file, with Spark's configuration and
    tokens.
    """
    blocks = {}
    spans = [[span for split in task for span in split.spans()] for task in tasks]
    return [preferred_hosts(each, lambda path: blocks_of(sc, path, blocks)) for each in spans]


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
