"""A missing or stopped session is reported where a network would use it."""

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


@pytest.mark.jvm
def test_after_its_session_was_stopped_each_call_says_so(own_spark):
    *others, of_column = own_spark["after its stop"]
    start = "ConfigError the Spark session was stopped; make a new SparkSession and SparkNetwork"
    assert len(others) == 7 and own_spark["keeps its network"]
    assert all(line.startswith(start) for line in others), others
    assert of_column.startswith(
        "ConfigError predict_column.frame must belong to a running Spark session"
    )
