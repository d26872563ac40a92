"""One Spark for all tests that need it: two executor processes take some 15 s to start."""

import os

import pytest

SMALL = {"spark.sql.shuffle.partitions": 3, "spark.default.parallelism": 3}


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """What the tests compile stays out of the user's cache; Spark's workers inherit the place."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def spark():
    """A SparkSession with two executors, one task each at a time."""
    from sparkdl.spark.session import session

    with session("local-cluster[2,1,1024]", SMALL, name="tests") as spark:
        yield spark


@pytest.fixture
def sc(spark):
    return spark.sparkContext
