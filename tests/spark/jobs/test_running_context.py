"""A missing or stopped session is reported where a network would use it."""

import os
import subprocess
import sys

import pytest

from sparkdl import Output, SparkNetwork
from sparkdl.errors import ConfigError
from sparkdl.nn import NetworkConf
from sparkdl.spark.jobs.running_context import require_running, require_session

CONF = NetworkConf(input_shape=(2,), layers=[Output(units=2)])
MISSING = {
    "by place": ((CONF,), {}, "got NetworkConf"),
    "by name": ((), {"conf": CONF}, "got none"),
    "None": ((None, CONF), {}, "got none"),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_network_without_a_session_says_so(case):
    values, options, got = MISSING[case]
    message = rf"sc must be a SparkContext or SparkSession, {got}; give it first: SparkNetwork\(sp"
    with pytest.raises(ConfigError, match=message):
        SparkNetwork(*values, **options)


class ConnectSession:
    """A stub of a stopped Spark Connect session."""

    __module__ = "pyspark.sql.connect.session"
    is_stopped = True


def test_a_session_of_spark_connect_that_was_stopped_is_named():
    stopped = ConnectSession()
    for check in (require_running, require_session):
        with pytest.raises(ConfigError, match="^the Spark session was stopped; make a new SparkS"):
            check(stopped)
        stopped.is_stopped = False
        check(stopped)
        stopped.is_stopped = True


AFTER_STOP = """
from pyspark.sql import SparkSession
from sparkdl import Output, SparkNetwork
from sparkdl.nn import NetworkConf
from sparkdl.spark import predict_column
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
conf = NetworkConf(input_shape=(2,), layers=[Output(name="out", units=2)])
df = spark.createDataFrame([([1.0, 2.0], 1)], ["features", "label"])
net = SparkNetwork(spark, conf)
spark.stop()
calls = [
    lambda: SparkNetwork(spark, conf),
    lambda: SparkNetwork(spark.sparkContext, conf),
    lambda: net.fit(df, epochs=1),
    lambda: net.evaluate(df),
    lambda: net.score(df),
    lambda: net.predict(df),
    lambda: net.features(df, "out"),
    lambda: predict_column(df, net),
]
for call in calls:
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
print(net.network.conf == conf)
"""


@pytest.mark.jvm
def test_after_its_session_was_stopped_each_call_says_so():
    command, surroundings = [sys.executable, "-c", AFTER_STOP], {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | surroundings
    )
    said = done.stdout.splitlines()
    start = "ConfigError the Spark session was stopped; make a new SparkSession and SparkNetwork"
    *others, of_column, same = said
    assert len(others) == 7 and same == "True"
    assert all(line.startswith(start) for line in others), said
    assert of_column.startswith(
        "ConfigError predict_column.frame must belong to a running Spark session"
    )
