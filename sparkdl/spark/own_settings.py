"""Check of sparkdl's own Spark settings, as a misspelt one would have no effect."""

from pyspark import SparkContext
from pyspark.sql import SparkSession

from sparkdl.config import suggestion
from sparkdl.errors import ConfigError
from sparkdl.spark.jobs import waiting
from sparkdl.spark.records import kept_data

PREFIX = "spark.sparkdl."
KNOWN = (kept_data.SETTING, waiting.SETTING)


def check_own_settings(sc: SparkContext) -> None:
    """Raises ConfigError for an unknown setting of the context or session with sparkdl's prefix.

    Session settings are those that `kept_data` looks at.
    """
    for name in sorted(own_names(sc)):
        if name not in KNOWN:
            known = f"known are {' and '.join(KNOWN)}"
            end = suggestion(name, KNOWN, family="")
            raise ConfigError(f"{name} is no setting of sparkdl, {known}{end}")


def own_names(sc):
    """Returns the names of settings with sparkdl's prefix, in three calls of the JVM."""
    names = {PREFIX + pair._1() for pair in sc._conf._jconf.getAllWithPrefix(PREFIX)}
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is not None:
        own = session.conf._jconf.getAll().keySet().mkString("\n").split("\n")
        names |= {name for name in own if name.startswith(PREFIX)}
    return names
