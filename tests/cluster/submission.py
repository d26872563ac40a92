"""spark-submit in the environment of a cluster: how it is called, and its result."""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from tests.cluster import settings
from tests.support import jvm, python_zips
from tests.support.class_archive import JARS

SHELL = "org.apache.hadoop.fs.FsShell"


@dataclass(frozen=True)
class Submitted:
    """A finished spark-submit.

    Attributes
    ----------
    code : int
        Exit code.
    printed : str
        Standard output and standard error.
    """

    code: int
    printed: str

    @property
    def application(self):
        """The YARN application id, or None."""
        found = re.search(r"application_\d+_\d+", self.printed)
        return found and found.group()


def environment(folder, java):
    """Returns os.environ for programs that use the cluster, with small JVMs for Spark.

    Options passed to spark-submit override the defaults written here.

    Parameters
    ----------
    folder : Path
        Gets Spark's defaults and a program `hdfs`.
    java : Java
        Has the cluster's settings and jars.
    """
    lines = (f"{key} {value}\n" for key, value in defaults().items())
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    java.write_program(folder / "bin" / "hdfs", SHELL)
    classes = f"-cp {JARS}{os.pathsep}{java.conf}"  # Spark's default would begin with a folder
    (folder / "spark-defaults.conf").write_text("".join(lines))
    left_out = {"PYTHONPATH", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_HOSTNAME", "HADOOP_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {
        "PATH": os.pathsep.join([*programs(folder), os.environ.get("PATH", "")]),
        "HADOOP_CONF_DIR": str(java.conf),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_HOME": _find_spark_home(),
        "SPARK_LOCAL_IP": settings.HOST,
        "SPARK_SUBMIT_OPTS": f"{jvm.FRUGAL} {classes}",  # for a driver in a container
        "JAVA_HOME": str(java.home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_ARCHIVES_PATH": ",".join(map(str, python_zips.zips())),  # sent to containers
    }


def programs(folder):
    """The folders with hdfs, sparkdl and spark-submit."""
    found = folder / "bin", Path(sys.executable).parent, Path(_find_spark_home(), "bin")
    return list(map(str, found))


def defaults():
    jars = Path(_find_spark_home(), "jars")
    memory = {f"spark.{part}.memory": "512m" for part in ("driver", "executor", "yarn.am")}
    return (
        jvm.options("yarn.am")
        | memory
        | {
            "spark.yarn.jars": f"local:{jars}/*",  # otherwise each submission uploads 400 MB
            "spark.yarn.maxAppAttempts": 1,
            "spark.yarn.report.interval": "500ms",
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": settings.HOST,
            "spark.ui.enabled": "false",
        }
    )
