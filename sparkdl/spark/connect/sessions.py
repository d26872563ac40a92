"""Recognition of sessions and DataFrames of Spark Connect, without loading its client.

The client needs further packages: pip install "sparkdl-hadoop[connect]".
"""

import uuid
from contextlib import contextmanager
from typing import Any, TypeGuard

import pyspark
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import is_remote

from sparkdl.errors import UnsupportedError
from sparkdl.spark.jobs.job_tags import HAS_TAGS

HOME = "pyspark.sql.connect."


def is_connect(value: Any) -> bool:
    """Returns whether a session or DataFrame belongs to Spark Connect."""
    return any(kind.__module__.startswith(HOME) for kind in type(value).__mro__)


def check_client() -> None:
    """Raises UnsupportedError if pyspark's client of Spark Connect lacks what a fit needs."""
    if not HAS_TAGS:  # introduced together with barriers of mapInArrow
        raise UnsupportedError(
            f"Spark Connect needs pyspark 3.5 or newer, got {pyspark.__version__}: older versions "
            "have no tags and no barrier for mapInArrow there; use a session without sc://"
        )


def is_frame(value: Any) -> TypeGuard[DataFrame]:
    """Returns whether a value is a DataFrame, of Spark Connect or not."""
    is_of_connect = is_connect(value) and type(value).__name__ == "DataFrame"
    return is_of_connect or isinstance(value, DataFrame)


def are_of_one_session(frame: Any, other: Any) -> bool:
    """Returns whether both DataFrames belong to the same session of Spark Connect."""
    return frame.sparkSession.session_id == other.sparkSession.session_id


def context_of(session: Any) -> Any:
    """Returns the object that runs a session's jobs: its SparkContext, or itself over Spark
    Connect.
    """
    return session if is_connect(session) else session.sparkContext


def spark_context(session: Any, what: str) -> Any:
    """Returns a session's SparkContext; raises UnsupportedError for `what` if it has none."""
    if is_connect(session):
        raise unsupported(what, "it needs a SparkContext; use a session without sc://")
    return session.sparkContext


def current_context() -> Any:
    """Returns the object that runs the jobs of this process."""
    if not is_remote():
        return SparkContext.getOrCreate()
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    return ConnectSession.builder.getOrCreate()


def current_session(context: Any) -> Any:
    """Returns a session for a context to create DataFrames."""
    return context if is_connect(context) else SparkSession.builder.getOrCreate()


def unsupported(what: str, cure: str) -> UnsupportedError:
    """Returns the error for a feature that needs a SparkContext."""
    return UnsupportedError(f"{what} cannot work over Spark Connect: {cure}")


@contextmanager
def interrupted_with_us(spark):
    """Interrupts on the server what runs inside this context, if it ends early here."""
    tag = f"sparkdl-{uuid.uuid4().hex}"
    spark.addTag(tag)
    try:
        yield
    except BaseException:
        spark.interruptTag(tag)
        raise
    finally:
        spark.removeTag(tag)
