"""Limits of Spark and PySpark on the results of tasks."""

from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs.slots import option

SETTING, DEFAULT = "spark.driver.maxResultSize", "1g"
LARGEST = 2**31 - 2**24  # bytes of an object that PySpark sends, with room for what is beside it
SMALL = 2**20  # bytes that fit any setting


def check_result_size(sc: Any, nbytes: int, count: int) -> None:
    """Raises ConfigError if the driver cannot receive `count` vectors of `nbytes` bytes."""
    if nbytes > LARGEST:
        raise ConfigError(
            f"parameters, buffers and averaged optimizer state must have at most {LARGEST} bytes "
            f"where the driver averages, as PySpark passes on no more, got {nbytes}; set "
            "aggregation='peers', or average_optimizer_state=False"
        )
    text = option(sc, SETTING, DEFAULT)
    limit = 0 if nbytes < SMALL else bytes_of(sc, text)
    if limit and count * nbytes > limit:
        raise ConfigError(
            f"{SETTING} must be more than {count * nbytes} bytes, or 0, for the {count} vectors "
            f"that the driver averages, got {text}; set it before Spark starts, or "
            "aggregation='peers'"
        )


def bytes_of(sc: Any, text: str) -> int:
    """Returns the bytes of a size of Spark such as 1g."""
    return sc._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(text)
