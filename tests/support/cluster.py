"""A standalone Spark cluster on two hosts: a one-core worker on each, the master on one."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from tests.support.class_archive import JARS
from tests.support.jvm import FRUGAL
from tests.support.loaded_daemon import IN_TESTS
from tests.support.namespaces import Host, kill

ROOT = Path(__file__).resolve().parents[2]
PORT, LIMIT = 7077, 180.0  # seconds for it to come
DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True)
class Cluster:
    """Hosts, a folder for Spark's files, and the PYTHONPATH of executors (None: they see only the
    packages of their own Python)."""

    left: Host
    right: Host
    folder: Path
    path: Path | None = ROOT

    @property
    def options(self):
        """Returns the master and config for `session` on the left host."""
        config = {
            "spark.driver.host": self.left.address,
            "spark.executor.memory": "1g",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            "spark.ui.enabled": "false",
            "spark.log.level": "ERROR",
        }
        config |= IN_TESTS if self.path else {}
        return f"spark://{self.left.address}:{PORT}", config

    def start(self, module, *arguments, **options):
        """Starts a driver, a module of the tests, on the left host; returns its Popen."""
        program = sys.executable, "-m", module, *arguments
        return self.left.start(*program, cwd=ROOT, env=environment(self.left), **options)


@contextmanager
def cluster(left, right, folder, path=ROOT):
    """Yields a Cluster; on exit, all its processes have ended."""
    made, started = Cluster(left, right, folder, path), []
    master, _ = made.options
    try:
        where = ("--host", left.address, "--port", PORT, "--webui-port", 0)
        started.append(daemon(made, left, "master.Master", *where))
        for host in (left, right):
            where = ("--host", host.address, "--cores", 1, "--memory", "1g", "--webui-port", 0)
            work = ("--work-dir", folder / f"work-{host.name}")
            started.append(daemon(made, host, "worker.Worker", *where, *work, master))
        wait_for_workers(made, started)
        yield made
    finally:
        for process in started:
            kill(process)


def daemon(made, host, name, *arguments):
    """Starts a Spark JVM that prints to a file."""
    program = Path(_find_spark_home(), "bin", "spark-class")
    with open(log_of(made, host, name), "w") as log:
        return host.start(
            program,
            f"{DEPLOY}.{name}",
            *arguments,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(host, made.path),
        )


def environment(host, path=ROOT):
    own = {
        "SPARK_LOCAL_IP": host.address,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": FRUGAL,
        "SPARK_DAEMON_CLASSPATH": JARS,
        "PYSPARK_PYTHON": sys.executable,
    }
    if path is not None:  # executors have the environment of the worker that starts them
        paths = (
            str(path),
            os.environ.get("PYTHONPATH"),
        )  # where another Spark than the pinned one is
        own["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | own


def wait_for_workers(made, started):
    log, deadline = log_of(made, made.left, "master.Master"), time.monotonic() + LIMIT
    while log.read_text().count("Registering worker") < 2:
        ended = [process for process in started if process.poll() is not None]
        if ended or time.monotonic() > deadline:
            raise RuntimeError(f"no cluster: {ended or 'late'}; see {log}:\n{log.read_text()}")
        time.sleep(0.1)


def log_of(made, host, name):
    return made.folder / f"{host.name}-{name}.log"
