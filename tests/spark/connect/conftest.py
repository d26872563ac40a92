"""A Spark Connect server in the JVM of the tests, and a client of it."""

from pathlib import Path

import pytest
from pyspark.find_spark_home import _find_spark_home

from tests.ml.frames import frame
from tests.spark.connect.client import client

SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService$"


@pytest.fixture(scope="session")
def connect(spark):
    """`connect(function, *arguments)` runs a function in a client."""
    if not list(Path(_find_spark_home(), "jars").glob("spark-connect_*.jar")):
        pytest.skip("pip's pyspark has no server of Spark Connect before version 4")
    context = spark.sparkContext
    service = context._jvm
    for name in SERVICE.split("."):
        service = getattr(service, name)
    service = getattr(service, "MODULE$")
    context._jsc.sc().conf().set("spark.connect.grpc.binding.port", "0")  # any free one
    service.start(context._jsc.sc())
    with client(f"sc://127.0.0.1:{service.localPort()}") as call:
        yield call
    # The server ends with its SparkContext.


@pytest.fixture(scope="session")
def path(spark, tmp_path_factory):
    """Rows of tests.ml.frames in files, which give every session the same partitions."""
    path = str(tmp_path_factory.mktemp("connect") / "rows")
    frame(spark).repartition(3, "id").write.parquet(path)
    return path
