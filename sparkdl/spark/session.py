"""Spark sessions with sparkdl's settings, which print nothing and leave nothing behind.

The output of Spark and its JVM goes to a file; an error names it, otherwise it is deleted.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from sparkdl.errors import SparkdlError, UnsupportedError, WorkerError
from sparkdl.spark.accumulator_server import expect_hang_up
from sparkdl.spark.daemon_search import DAEMON, MODULE, DaemonSearch
from sparkdl.spark.jobs.job import message, reason
from sparkdl.spark.jobs.jvm import forget_jvm, is_of_jvm
from sparkdl.spark.jobs.shared_processes import SIMPLIFIED
from sparkdl.spark.nameless_user import is_nameless, name_user, package_folder
from sparkdl.spark.properties_file import parse_properties
from sparkdl.spark.socket_folder import own_socket_folder, socket_options
from sparkdl.spark.standalone_master import check_standalone_master
from sparkdl.spark.start_failures import (
    check_work_folder,
    first_cause,
    lines_of,
    refusal,
    warn_when_slow,
    why_not,
)
from sparkdl.spark.yarn_master import check_yarn

TWO_EXECUTORS = "local-cluster[2,1,1024]"
ALWAYS = {
    "spark.ui.showConsoleProgress": "false",  # would overwrite our own progress bar
    SIMPLIFIED: "false",  # tasks of SQL and of RDDs then have the same environment and processes
}
# These JVMs live for minutes and share the cores with workers: the time spent by the optimizing
# compiler and the parallel collector hardly pays off. `extraJavaOptions` take precedence.
COLLECTOR = re.compile(r"-XX:\+Use(?!Serial)\w+GC\b")  # a collector other than ours
FRUGAL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ON_THIS_MACHINE = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.driver.defaultJavaOptions": FRUGAL,
    "spark.executor.defaultJavaOptions": FRUGAL,
    # A worker's process is not told that its task was cancelled, so the delay before it is killed,
    # 2 s by default, would serve nothing.
    "spark.python.task.killTimeout": "100ms",
}


@contextmanager
def session(
    master: str = TWO_EXECUTORS, config: Mapping[str, Any] | None = None, name: str = "sparkdl"
) -> Iterator[SparkSession]:
    """Runs a SparkSession for the length of a block.

    A session that is already running is used, and not stopped.

    Parameters
    ----------
    master : str
        Where to run: "local[4]", "local-cluster[executors,cores,megabytes]" (real executor
        processes on this machine), "yarn" ... Under spark-submit its master takes precedence.
    config : dict or None
        Options of Spark; those given to spark-submit take precedence.
    name : str
        Of the application.

    Raises
    ------
    UnsupportedError
        If Spark cannot start: no Java, an unknown or unreachable master, a refused option.
    """
    if SparkContext._active_spark_context is not None:
        yield SparkSession.builder.getOrCreate()
        return
    spark, keep_log = start(master, config, name), False
    try:
        yield spark
    except Exception as error:
        log = log_of(spark)
        keep_log = log is not None and not is_for_the_user(error)
        if keep_log:
            error.add_note(f"what Spark printed is in {log}")
        raise
    finally:
        stop(spark, keep_log)


def start(
    master: str = TWO_EXECUTORS, config: Mapping[str, Any] | None = None, name: str = "sparkdl"
) -> SparkSession:
    """Starts a SparkSession that prints nothing; options as of `session`. End it with `stop`."""
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started the JVM
    options = {"spark.app.name": name, "spark.master": master} | defaults(master, submitted)
    alone = is_local(master) and not submitted
    options |= socket_options(own_socket_folder() if alone else None)
    if not submitted and is_nameless():
        options |= package_folder(spark_defaults())
    options |= {key: as_text(value) for key, value in (config or {}).items()}
    options = without_second_collector(options)
    if not submitted:
        check_standalone_master(options["spark.master"])
        check_yarn(spark_defaults() | options, settings_folder())
    if alone:
        check_work_folder(options["spark.master"], _find_spark_home())
        name_user()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    searches = alone and DAEMON not in options
    with DaemonSearch() if searches else nullcontext() as search:
        if SparkContext._gateway is None:
            SparkContext._ensure_initialized(None, gateway(options, submitted), None)
        conf = SparkConf()
        if search is not None and search.finds_ours():
            conf.setIfMissing(DAEMON, MODULE)
    for key, value in options.items():
        if not (submitted and conf.contains(key)):
            conf.set(key, value)
    spark = create_session(conf, master)
    expect_hang_up(spark.sparkContext)
    return spark


def stop(spark: SparkSession, keep_log: bool = False) -> None:
    """Stops the session; also removes the work folders of a local-cluster's executors."""
    log = log_of(spark)
    try:
        stop_context(spark)
    except (Py4JNetworkError, ConnectionError) as error:
        if not is_of_jvm(error):
            raise
        forget_jvm()  # it has already ended
    if log is not None and not keep_log:
        log.unlink(missing_ok=True)


def stop_context(spark):
    context = spark.sparkContext
    number, owns_cluster = context.applicationId, str(context.master).startswith("local-cluster")
    spark.stop()
    if owns_cluster:  # a driver in a YARN container has no Spark home
        folder = Path(_find_spark_home(), "work", number)
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # another application is using it
            folder.parent.rmdir()


def log_of(spark: SparkSession) -> Any:
    """Returns the file with the JVM's output.

    None if the JVM was started elsewhere, or its file was deleted with an earlier session.
    """
    return printed_to(spark.sparkContext._gateway)


def printed_to(started: Any) -> Path | None:
    """Returns the file that takes what the JVM of a gateway prints, or None."""
    path = None if started is None else vars(started).get("sparkdl_log")  # py4j has any attribute
    return Path(path) if path is not None and Path(path).is_file() else None


def defaults(master: str, submitted: bool) -> dict[str, Any]:
    """Returns the default options, which `config` may override."""
    if submitted or not is_local(master):
        return ALWAYS
    cluster = re.fullmatch(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*(\d+)\s*\]", master)
    return ALWAYS | ON_THIS_MACHINE | (of_cluster(cluster[1]) if cluster else {})


def without_second_collector(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options without our garbage collector where another is chosen: JVMs refuse two.

    The other may also be set in spark-defaults.conf or JAVA_TOOL_OPTIONS.
    """
    if FRUGAL not in options.values():  # a driver in a container may have no Spark home
        return options
    settings, tools = spark_defaults() | options, os.environ.get("JAVA_TOOL_OPTIONS", "")
    chosen = [
        part
        for part in ("driver", "executor")
        if COLLECTOR.search(f"{settings.get(f'spark.{part}.extraJavaOptions', '')} {tools}")
    ]
    names = {f"spark.{part}.defaultJavaOptions" for part in chosen}
    return {key: value for key, value in options.items() if not (key in names and value == FRUGAL)}


def spark_defaults() -> dict[str, str]:
    """Returns the options of the installation's spark-defaults.conf."""
    path = settings_folder() / "spark-defaults.conf"
    return parse_properties(path.read_text(errors="replace") if path.is_file() else "")


def settings_folder() -> Path:
    """Returns the folder of spark-defaults.conf and spark-env.sh."""
    return Path(os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home(), "conf"))


def of_cluster(megabytes: str) -> dict[str, Any]:
    """Returns the options of executors on this machine, with this much memory each."""
    return {
        # By default an executor asks for 1 GB; with less, Spark would wait for it forever.
        "spark.executor.memory": f"{megabytes}m",
        # Also names work folders, which would clash if two sessions started in the same second.
        "spark.deploy.appIdPattern": f"app-%s-%04d-{os.getpid()}",
    }


def is_local(master: str) -> bool:
    return master.startswith("local")


def as_text(value: Any) -> str:
    """Returns a value as text in Spark's form: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def gateway(options: Mapping[str, Any], submitted: bool) -> Any:
    """Returns the connection to a JVM: spark-submit's, or one started with these options."""
    if submitted:
        return launch_gateway()
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(options.items()))
    with tempfile.NamedTemporaryFile(prefix="sparkdl-spark-", suffix=".log", delete=False) as log:
        try:
            launched = launch_gateway(conf, {"stdout": log, "stderr": subprocess.STDOUT})
        except (RuntimeError, OSError) as error:  # includes PySparkRuntimeError since 3.5
            raise UnsupportedError(why_not(Path(log.name), options, error)) from error
    launched.sparkdl_log = log.name
    return launched


def create_session(conf: Any, master: str) -> SparkSession:
    printed = None if is_local(master) else printed_to(SparkContext._gateway)
    try:
        with warn_when_slow(master, printed):
            return SparkSession.builder.config(conf=conf).getOrCreate()
    except (Py4JError, PySparkException, ConnectionError) as error:
        is_gone = isinstance(error, Py4JNetworkError | ConnectionError)
        if is_gone and not is_of_jvm(error):
            raise
        why = gone_because(SparkContext._gateway) if is_gone else reason(message(error))
        raise UnsupportedError(refusal(master, why)) from error


def gone_because(started: Any) -> str:
    """Returns why a JVM has ended while starting a session, and forgets it."""
    forget_jvm()
    printed = printed_to(started)
    if printed is None:
        return "its JVM has ended"
    cause = first_cause(lines_of(printed)) or "its JVM has ended"
    return f"{cause}; what Spark printed is in {printed}"


def is_for_the_user(error: BaseException) -> bool:
    """Returns whether the error needs no further explanation."""
    return isinstance(error, SparkdlError) and not isinstance(error, WorkerError)
