"""The options that say what becomes of a row that fails, and the column of reasons."""

from pyspark.sql.types import StringType, StructField

from sparkdl.errors import ConfigError, brief

ON_ERROR = ("raise", "null", "column")


def check_on_error(owner, on_error, error):
    """Raises ConfigError for an invalid option `on_error` or `error` of a function."""
    if on_error not in ON_ERROR:
        raise ConfigError(f"{owner}.on_error must be one of {ON_ERROR}, got {brief(on_error)}")
    if on_error == "column" and not isinstance(error, str):
        raise ConfigError(f"{owner}.error must be a name, got {brief(error)}")


def reasons_field(on_error, error):
    """Returns [the field of the column of reasons], [] unless `on_error` wants one."""
    return [StructField(error, StringType(), True)] if on_error == "column" else []
