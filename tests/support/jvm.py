"""JVMs of the tests: they end within minutes, before what makes them fast has paid for itself."""

import os

FRUGAL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"


def frugal_spark(folder):
    """From now on drivers and executors that this process and those below it start are frugal.

    Parameters
    ----------
    folder : Path
        For Spark's defaults.
    """
    folder.mkdir(exist_ok=True)
    lines = (f"spark.{part}.extraJavaOptions {FRUGAL}\n" for part in ("driver", "executor"))
    (folder / "spark-defaults.conf").write_text("".join(lines))
    os.environ["SPARK_CONF_DIR"] = str(folder)
