"""One Spark for all tests that need it: two executor processes take some 15 s to start."""

import pytest

SMALL = {"spark.sql.shuffle.partitions": 3, "spark.default.parallelism": 3}


@pytest.fixture(scope="session")
def spark():
    """A SparkSession with two executors, one task each at a time."""
    from sparkdl.spark.session import session

    with session("local-cluster[2,1,1024]", SMALL, name="tests") as spark:
        yield spark


@pytest.fixture
def sc(spark):
    return spark.sparkContext
