"""Tables with versions: rows are kept for fits of the same version, and for no other.

A partitioned table, whose files are not looked up, stands for one of Delta Lake or Iceberg, which
are not in pyspark.
"""

from types import SimpleNamespace

import pytest
from pyspark import StorageLevel

from sparkdl.spark import SparkNetwork, clear_kept_data
from sparkdl.spark.records import data_identity
from sparkdl.spark.records.data_identity import UNSEEN, leaf_identity
from sparkdl.spark.records.executor_store import ExecutorStore
from sparkdl.spark.records.kept_data import SETTING, keeping_nothing
from sparkdl.spark.records.table_versions import DELTA_FILES, HAS_VERSIONS, TableVersion
from tests.spark.networks import plain
from tests.spark.records.test_kept_data import MASTER

NUMBERS = [f"x{place}" for place in range(6)]


class OfJvm:
    """A stub of a Java object: its class, and methods that return values."""

    def __init__(self, kind, **values):
        self.getClass = lambda: SimpleNamespace(getName=lambda: kind)
        for name, value in values.items():
            setattr(self, name, lambda value=value: value)


def versioned(number, version):
    return OfJvm(data_identity.TABLE, table=OfJvm("Table", id=number, version=version))


def delta(number, version, kind="org.apache.spark.sql.delta.DeltaLog$$anon$2"):
    metadata = OfJvm("Metadata", id=number)
    snapshot = OfJvm("Snapshot", metadata=metadata, version=version)
    location = OfJvm(DELTA_FILES, getSnapshot=snapshot, path="/t")
    return OfJvm(data_identity.LOGICAL_RELATION, relation=OfJvm(kind, location=location))


def test_versions_of_tables():
    known = TableVersion("a", "3") if HAS_VERSIONS else None
    assert leaf_identity(versioned("a", "3")) == known
    assert leaf_identity(versioned(None, "3")) is leaf_identity(versioned("a", None)) is None
    assert leaf_identity(delta("a", 3)) == TableVersion("a /t", 3)
    assert leaf_identity(delta("a", 3, kind="a.relation.of.others")) is None


@pytest.fixture
def keeps(spark):
    spark.conf.set(SETTING, "1m")
    yield
    clear_kept_data(spark)
    spark.conf.unset(SETTING)


def write(spark, low, high):
    made = spark.range(low, high).selectExpr(*(f"id / {n + 9} x{n}" for n in range(6)), "id % 3 y")
    made.coalesce(1).write.partitionBy("y").saveAsTable("numbers", mode="append")


@pytest.fixture
def table(spark):
    """A function that returns a DataFrame of the table."""
    write(spark, 0, 20)
    yield lambda: spark.table("numbers")
    spark.sql("drop table numbers")


@pytest.fixture
def version(monkeypatch):
    """A list of the version of the table."""
    now, known = [1], data_identity.relation_identity

    def find(relation):
        if relation.location().getClass().getName().endswith(".CatalogFileIndex"):
            return TableVersion("numbers", now[0])
        return known(relation)

    monkeypatch.setattr(data_identity, "relation_identity", find)
    return now


def fit(spark, frame):
    """Returns (whether kept data was used, number of records, the parameters)."""
    net = SparkNetwork(spark, plain(), MASTER)
    history = net.fit(frame, features=NUMBERS, label="y")
    params = net.network.state.params.tobytes()
    return history.data_were_kept, history.epochs[-1].examples, params


def fresh(spark, frame):
    with keeping_nothing():
        return fit(spark, frame)


def test_a_table_without_versions_is_read_by_each_fit(spark, keeps, table):
    net = SparkNetwork(spark, plain(), MASTER)
    assert net.fit(table(), features=NUMBERS, label="y").why_not_kept == UNSEEN
    write(spark, 20, 30)
    assert fit(spark, table()) == fresh(spark, table())
    assert fit(spark, table())[1] == 30


def test_cached_rows_stay_whatever_the_table_becomes(spark, keeps, table):
    cached = table().cache()
    assert not fit(spark, cached)[0]  # nothing is computed only to find out
    first = fresh(spark, cached)
    assert fit(spark, cached) == first
    assert fit(spark, table()) == (True, *first[1:])
    write(spark, 20, 30)  # Spark caches the table again
    assert fresh(spark, cached)[1] == 30
    second = fit(spark, cached)
    assert not second[0] and second[1] == 30
    assert fit(spark, cached) == (True, *second[1:])
    cached.unpersist()
    in_memory = table().persist(StorageLevel.MEMORY_ONLY)
    in_memory.count()
    assert not any(fit(spark, in_memory)[0] for _ in range(2))
    in_memory.unpersist()


def test_a_version_is_read_once(spark, keeps, table, version):
    frame, first = table(), fresh(spark, table())
    assert [fit(spark, frame), fit(spark, table())] == [first, (True, *first[1:])]
    write(spark, 20, 30)
    version[0] = 2
    second = fresh(spark, table())
    assert second[1] == 30
    assert [fit(spark, frame), fit(spark, table())] == [second, (True, *second[1:])]


def test_a_table_that_changes_while_it_is_read_is_not_kept(
    spark, keeps, table, version, monkeypatch
):
    """It may return to the version that it had before."""
    measure = ExecutorStore.measure

    def change(store):
        version[0] += 1
        return measure(store)

    with monkeypatch.context() as patch:
        patch.setattr(ExecutorStore, "measure", change)
        net = SparkNetwork(spark, plain(), MASTER)
        assert net.fit(table(), features=NUMBERS, label="y").why_not_kept == UNSEEN
    version[0] = 1
    assert not fit(spark, table())[0]
    assert fit(spark, table())[0]
