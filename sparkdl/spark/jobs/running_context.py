"""Checks that a SparkNetwork gets a Spark session that has not been stopped."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from pyspark import SparkContext
from pyspark.sql import SparkSession

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import ConfigError
from sparkdl.spark.connect.sessions import is_connect

P = ParamSpec("P")
STOPPED = (
    "the Spark session was stopped; make a new SparkSession and SparkNetwork (net.network has the "
    "weights)"
)


def needs_session(constructor: Callable[P, None]) -> Callable[P, None]:
    """Makes a constructor check that its first argument is a running session or context.

    Unknown options are refused as by `refuse_unknown_options`.
    """

    @refuse_unknown_options
    @wraps(constructor)
    def checked(*values: P.args, **options: P.kwargs) -> None:
        given = options["sc"] if "sc" in options else next(iter(values[1:]), None)
        require_session(given)
        constructor(*values, **options)

    return checked


def require_session(given: Any) -> None:
    """Raises ConfigError unless given a running session or context of Spark."""
    if is_connect(given):
        return require_running(given)
    if not isinstance(given, SparkContext | SparkSession):
        got = "none" if given is None else type(given).__name__
        raise ConfigError(
            f"sc must be a SparkContext or SparkSession, got {got}; give it first: "
            "SparkNetwork(spark, conf)"
        )
    require_running(given.sparkContext if isinstance(given, SparkSession) else given)


def require_running(sc: Any) -> None:
    """Raises ConfigError if a SparkContext, or a session of Spark Connect, was stopped."""
    if was_stopped(sc):
        raise ConfigError(STOPPED)


def was_stopped(sc: Any) -> bool:
    """Returns whether a SparkContext, or a session of Spark Connect, was stopped."""
    if isinstance(sc, SparkContext):
        return getattr(sc, "_jsc", None) is None
    return is_connect(sc) and sc.is_stopped
