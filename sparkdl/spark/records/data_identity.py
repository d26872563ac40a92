"""Identity of an RDD or a DataFrame, by which the same data is recognized.

Two identities are equal only if Spark is certain to give the same records in the same partitions.
Data for which this is not known has no identity:

* An RDD must be the same Python object, with unchanged function and files. None of the RDDs that it
  is computed from may be persisted if they begin with files: the rows may be of earlier files.
* A DataFrame must have the same optimized plan, in which times of day have become values, under
  the same settings; its plan must be deterministic, except for random numbers as in
  seeded_plans.py, and start from unchanged files, which Spark has listed with the same lengths,
  the same versions of tables that have versions, an RDD of the same identity, or values. Other
  partitioned tables of a catalogue, databases and streams do not qualify.
* Python functions must be certain to give the same results, as in reproducible_functions.py: those
  of an RDD and of a DataFrame, except below rows that Spark has cached. That functions of the JVM
  give the same records is an assumption of Spark itself, which recomputes lost partitions.
"""

import hashlib
import re
import weakref
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark import RDD, cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from sparkdl.data import files
from sparkdl.data.file_stamps import MOST_FILES, stamp_files
from sparkdl.data.source import Source
from sparkdl.spark.jobs.slots import elements
from sparkdl.spark.records.python_functions import plan_is_reproducible, rdd_is_reproducible
from sparkdl.spark.records.reproducible_functions import is_reproducible
from sparkdl.spark.records.seeded_plans import (
    CACHED,
    EXECUTION,
    LOGICAL,
    LOGICAL_RDD,
    TABLE,
    cached_rows,
    class_of,
)
from sparkdl.spark.records.table_versions import (
    DELTA_FILES,
    TableVersion,
    delta_version,
    table_version,
)

UNSEEN = "the next fit reads this data again: nothing shows for certain that it has not changed"
MAY_DIFFER = (
    "the next fit reads this data again, as a Python function may give other records each time; "
    "a DataFrame that is cached and computed before a fit stays the same"
)
MOST_RDDS = 256  # most RDDs of a lineage: each takes several JVM calls
CONSTANT_RDDS = {  # Spark has their records: in the driver, or in files of its own
    "org.apache.spark.rdd.EmptyRDD",
    "org.apache.spark.rdd.LocalCheckpointRDD",
    "org.apache.spark.rdd.ParallelCollectionRDD",
    "org.apache.spark.rdd.ReliableCheckpointRDD",
}
LOCAL_RELATION = f"{LOGICAL}LocalRelation"
CONSTANT_LEAVES = {LOCAL_RELATION, f"{LOGICAL}OneRowRelation", f"{LOGICAL}Range"}
FILE_SCAN = f"{EXECUTION}datasources.FileScanRDD"
LOGICAL_RELATION = f"{EXECUTION}datasources.LogicalRelation"
FILES_RELATION = f"{EXECUTION}datasources.HadoopFsRelation"
DELTA_RELATION = "org.apache.spark.sql.delta."  # of a class without a name
FILE_INDEX = f"{EXECUTION}datasources.InMemoryFileIndex"
LISTED = re.compile(r"path=([^\n]*?); isDirectory=false; length=(\d+);")  # of Hadoop's FileStatus


class DataIdentity(NamedTuple):
    """Identity of records, with what is read of them: a Schema and {column: name}.

    Parameters
    ----------
    lack_weights : bool
        Whether the column of weights may be missing; see SparkRecords.
    """

    schema: Any
    columns: dict[str, str]
    what: Any
    lack_weights: bool = False

    @property
    def origins(self):
        """Identities of the leaves of a DataFrame's plan; () of other data."""
        return getattr(self.what, "origins", ())


class RddIdentity(NamedTuple):
    """A weak reference to the Python object, the digest of its function, its lineage's identity."""

    owner: Any
    function: bytes | None
    origin: Any


def identify(records, schema):
    """Returns the DataIdentity of SparkRecords; None if it cannot be determined."""
    try:
        what = identify_data(records, schema)
    except (Py4JError, PySparkException):  # another release of Spark, or faults in the data
        return None
    columns = schema.fields(records.features, records.label, records.weights)
    lack_weights = records.lack_weights and records.weights is not None
    return None if what is None else DataIdentity(schema, columns, what, lack_weights)


def tell_doubt(records):
    """Returns why SparkRecords without an identity are read by each fit."""
    data = records.data
    try:
        if isinstance(data, DataFrame):
            # A plan of its own: that of `data` would not see a cache that its user makes later.
            plan = data.select("*")._jdf.queryExecution().withCachedData()
            is_sound = plan_is_reproducible(data.sparkSession, plan)
        else:
            is_sound = not isinstance(data, RDD) or is_reproducible(getattr(data, "func", None))
    except (Py4JError, PySparkException):
        is_sound = True
    return UNSEEN if is_sound else MAY_DIFFER


def identify_data(records, schema):
    data = records.data
    if isinstance(data, RDD):
        return rdd_identity(data)
    if isinstance(data, DataFrame):
        return frame_identity(records.given, records.select_columns(schema)[0])
    return data.identity() if isinstance(data, Source) else None


@dataclass(frozen=True, eq=False)
class FramePlan:
    """Optimized plan of a DataFrame, with everything that determines its partitions.

    Parameters
    ----------
    plan, settings : objects of the JVM
    parallelism : int
        Cores that Spark plans for.
    owner : weak reference to the Python object, or None
        Set if the plan holds records in the driver's memory, which must remain free to go.
    """

    plan: Any
    settings: Any
    parallelism: int
    owner: Any = None

    def __eq__(self, other):
        return (
            self.parallelism == other.parallelism
            and self.settings.equals(other.settings)
            and self.plan.sameResult(other.plan)
        )


def is_gone(identity):
    """Returns whether no data can have this DataIdentity any more."""
    owner = getattr(identity.what, "owner", None)
    return owner is not None and owner() is None


def rdd_identity(rdd):
    if not is_reproducible(getattr(rdd, "func", None)):
        return None
    origin = lineage_identity(rdd._jrdd.rdd())
    return None if origin is None else RddIdentity(weakref.ref(rdd), function_digest(rdd), origin)


def function_digest(rdd):
    """Returns a digest of a Python function with the values that it uses.

    Each job pickles the function again; a notebook's variables may have changed by then.
    """
    function = getattr(rdd, "func", None)  # of an RDD computed by Python
    return None if function is None else hashlib.sha256(cloudpickle.dumps(function)).digest()


class FrameIdentity(NamedTuple):
    """The identities of a plan's origins, and the plan.

    The origins end with the ids of the cached RDDs that it reads, whose files may have changed.
    """

    origins: tuple[Any, ...]
    plan: FramePlan

    @property
    def owner(self):
        return self.plan.owner


def frame_identity(data, frame):
    """Returns the FrameIdentity of the caller's DataFrame; `frame` has only what is read of it."""
    execution = frame._jdf.queryExecution()
    if not execution.analyzed().subqueriesAll().isEmpty():
        return None
    if not plan_is_reproducible(frame.sparkSession, execution.withCachedData()):
        return None
    leaves, origins = origins_of(execution)
    origins = (*origins, cached_rows(execution))
    if None in origins:
        return None
    settings = frame.sparkSession._jsparkSession.sessionState().conf().getAllConfs()
    parallelism = frame.sparkSession.sparkContext.defaultParallelism
    owner = weakref.ref(data) if any(map(holds_records, leaves, origins)) else None
    return FrameIdentity(
        origins, FramePlan(execution.optimizedPlan(), settings, parallelism, owner)
    )


def origins_of(execution):
    """Returns the leaves of a plan, and their identities.

    If one has none, those of frames cached on disk replace what they were computed from: their rows
    stay the same.
    """
    leaves = elements(execution.normalized().collectLeaves())  # tables are of their newest versions
    origins = [leaf_identity(leaf) for leaf in leaves]
    if None not in origins:
        return leaves, origins
    leaves = elements(execution.withCachedData().collectLeaves())
    return leaves, [leaf_identity(leaf) for leaf in leaves]


def is_current(identity, records, schema):
    """Returns whether tables still have the versions of a DataIdentity, once their rows were read.

    Otherwise the rows may be of a later version, and the table may return to an earlier one. Files
    do not regain their stamps.
    """
    if not any(isinstance(one, TableVersion) for one in identity.origins):
        return True
    frame = records.select_columns(schema)[0]
    try:
        _, origins = origins_of(frame._jdf.queryExecution())
    except (Py4JError, PySparkException):  # such as a table that was dropped
        return False
    return tuple(origins) == identity.origins[:-1]


def holds_records(leaf, origin):
    """Returns whether the records of a plan's leaf occupy memory of the driver."""
    if class_of(leaf) == LOGICAL_RDD:
        return any(not stamps for _, stamps in origin)
    return class_of(leaf) == LOCAL_RELATION


def leaf_identity(leaf):
    """Returns the identity of a plan's leaf; None if it is not known."""
    kind = class_of(leaf)
    if kind in CONSTANT_LEAVES:
        return ()  # the values are in the plan
    if kind == LOGICAL_RDD:
        return lineage_identity(leaf.rdd())
    if kind == CACHED:  # FrameIdentity has its number; memory alone may lose rows
        return () if leaf.cacheBuilder().storageLevel().useDisk() else None
    if kind == TABLE:
        return table_version(leaf)
    return relation_identity(leaf.relation()) if kind == LOGICAL_RELATION else None


def relation_identity(relation):
    """Returns the identity of files or of a table of Delta Lake; None of other relations."""
    kind = class_of(relation)
    if kind != FILES_RELATION and not kind.startswith(DELTA_RELATION):
        return None
    location = relation.location()
    if class_of(location) == FILE_INDEX:
        return listed_identity(location)
    return delta_version(location) if class_of(location) == DELTA_FILES else None


def listed_identity(location):
    """Returns the stamps of files, and their lengths when Spark listed them; None if not known.

    Of a file that has grown since, Spark reads the first part.
    """
    found = location.inputFiles()
    if len(found) > MOST_FILES:  # before 300 bytes of text for each are asked for
        return None
    paths = [unquote(path) for path in found]
    listed = sorted(LISTED.findall(str(location.allFiles().toString())))
    stamps = stamps_of(paths) if len(listed) == len(paths) else None
    return None if stamps is None else (stamps, tuple(listed))


def lineage_identity(rdd):
    """Returns (id, file stamps) of the RDDs that a JVM RDD originates from; None if unknown."""
    waiting, seen, origins, is_persisted = [rdd], set(), [], False
    while waiting:
        one = waiting.pop()
        if one.id() in seen:
            continue
        seen.add(one.id())
        if not rdd_is_reproducible(one):
            return None
        is_persisted = is_persisted or one.getStorageLevel().isValid()
        before = [each.rdd() for each in elements(one.dependencies())]
        waiting += before
        origin = () if before else origin_identity(one)
        if origin is None or len(seen) > MOST_RDDS:
            return None
        if not before:
            origins.append((one.id(), origin))
    if is_persisted and any(stamps for _, stamps in origins):
        return None  # nothing shows when its rows were computed, or whether they were since
    return tuple(origins)


def origin_identity(rdd):
    """Returns the file stamps of an RDD without dependencies; None if not known."""
    kind = class_of(rdd)
    if kind in CONSTANT_RDDS:
        return ()
    if kind == "org.apache.spark.rdd.HadoopRDD":
        parts = rdd.partitions()
        if len(parts) <= MOST_FILES:
            return stamps_of(part.inputSplit().value().getPath().toString() for part in parts)
    if kind == FILE_SCAN:
        parts = elements(rdd.filePartitions())
        return stamps_of(file.toPath().toString() for part in parts for file in part.files())
    return None


def stamps_of(paths):
    """Returns the stamps of files given as Hadoop paths, in which a local one may be file:/path."""
    paths = [re.sub(r"^file:/+", "/", path) for path in paths]
    files.forget_listings(paths[:MOST_FILES])
    return stamp_files(paths)
