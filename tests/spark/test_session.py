"""Sessions: options per master, quiet starts, cleanup, and clear refusals."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from sparkdl.spark.session import as_text, defaults, session, without_second_collector

CODE = """
import json, os
import pyspark
from sparkdl.spark.session import log_of, session
from sparkdl.errors import DataError, WorkerError
"""


def python(code, **environment):
    """Runs CODE + code in a new process; returns its stdout and stderr."""
    environment = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", CODE + code], capture_output=True, text=True, env=environment
    )
    return done.stdout, done.stderr


EVERYWHERE = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
MASTERS = [
    ("local-cluster[2,1,512]", False, {"spark.executor.memory": "512m"}),
    ("local-cluster[ 2 , 1 , 600 ]", False, {"spark.executor.memory": "600m"}),
    ("local[2]", False, {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}),
    ("local[2]", False, {"spark.python.task.killTimeout": "100ms"}),
    ("local[2]", True, EVERYWHERE),
    ("yarn", False, EVERYWHERE),
]


@pytest.mark.parametrize("master, submitted, options", MASTERS)
def test_options_follow_the_master(master, submitted, options):
    found = defaults(master, submitted)
    assert options.items() <= found.items()
    if submitted or master == "yarn":
        assert found == options


G1 = {"spark.executor.extraJavaOptions": "-Dsome=where -XX:+UseG1GC"}
COLLECTORS = [
    ({}, ["driver", "executor"]),
    ({"spark.driver.extraJavaOptions": "-Dsome=where"}, ["driver", "executor"]),
    (G1, ["driver"]),
    (G1 | {"spark.executor.defaultJavaOptions": "-Dmine=1"}, ["driver", "executor"]),
]


@pytest.mark.parametrize("own, left", COLLECTORS)
def test_jvms_of_this_machine_are_frugal_but_have_one_collector(own, left):
    found = without_second_collector(defaults("local[2]", False) | own)
    assert [part for part in ("driver", "executor") if default_of(part) in found] == left
    assert own.items() <= found.items()


def default_of(part):
    return f"spark.{part}.defaultJavaOptions"


@pytest.mark.parametrize(
    "start", ["spark.driver.extraJavaOptions ", "spark.driver.extraJavaOptions="]
)
def test_a_collector_of_the_installation_is_left_alone(start, tmp_path, monkeypatch):
    (tmp_path / "spark-defaults.conf").write_text(f"# ours\n{start}-Xss1m -XX:+UseG1GC\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    found = without_second_collector(defaults("local[2]", False))
    assert [key for key in found if "Java" in key] == ["spark.executor.defaultJavaOptions"]


@pytest.mark.parametrize("master, submitted", [("yarn", False), ("yarn", True), ("local[2]", True)])
def test_no_installation_is_asked_for_where_none_may_be(master, submitted, monkeypatch):
    def refuse():
        raise SystemExit(-1)  # as pyspark's own function does in a container

    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setattr("sparkdl.spark.session._find_spark_home", refuse)
    options = defaults(master, submitted)
    assert without_second_collector(options) == options


@pytest.mark.parametrize("value, text", [(True, "true"), (3, "3"), ("2g", "2g"), (0.5, "0.5")])
def test_values_are_written_as_spark_does(value, text):
    assert as_text(value) == text


def test_running_session_is_lent_and_stays(spark):
    with session("local[7]") as lent:
        assert lent.sparkContext is spark.sparkContext
    assert spark.sparkContext.parallelize([1, 2], 2).sum() == 3


def test_session_prints_nothing_and_leaves_nothing(tmp_path):
    out, err = python(
        """
with session("local-cluster[1,1,600]", {"spark.test.a": True}, name="quiet") as spark:
    log, sc = log_of(spark), spark.sparkContext
    work = os.path.join(os.path.dirname(pyspark.__file__), "work", sc.applicationId)
    sc.parallelize([1], 1).count()
    sockets = sc.getConf().get("spark.python.unix.domain.socket.dir")
    found = [spark.conf.get("spark.test.a"), sc.appName, log.exists(), os.path.exists(work)]
    found += [oct(os.stat(sockets).st_mode & 0o777), len(os.listdir(sockets)) > 1]
    found += [spark.conf.get("spark.python.unix.domain.socket.enabled")]
print(json.dumps([*found, log.exists(), os.path.exists(work), str(log)]))
with session("local[1]") as spark:  # in the JVM of the first one
    print(spark.range(3).toPandas().id.sum() + spark.sparkContext.parallelize([1]).sum())
try:
    with session("locl[1]") as spark:  # and so does this one
        pass
except Exception as error:
    print(error)
""",
        TMPDIR=str(tmp_path),
    )
    first, again, second = out.splitlines()
    assert again == "4"
    *found, log = json.loads(first)
    has_sockets = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 1)
    assert found == ["true", "quiet", True, True, "0o700", has_sockets, "true", False, False]
    assert second.startswith("Spark did not start with master 'locl[1]': ")
    assert err == ""
    assert Path(log).parent == tmp_path
    assert not [path for path in tmp_path.iterdir() if "sparkdl" in path.name]


def test_log_is_kept_and_named_where_spark_failed(tmp_path):
    out, _ = python(
        """
try:
    with session("local[1]") as spark:
        raise WorkerError("lost")
except WorkerError as error:
    print(*error.__notes__)
""",
        TMPDIR=str(tmp_path),
    )
    assert out.startswith("what Spark printed is in ")
    assert "default log level" in Path(out.split()[-1]).read_text()


FAIL = """
try:
    with session({master!r}):
        pass
except Exception as error:
    print(type(error).__name__, error)
"""


def test_missing_java_is_one_sentence(tmp_path):
    out, _ = python(FAIL.format(master="local[1]"), JAVA_HOME=str(tmp_path), TMPDIR=str(tmp_path))
    assert out.startswith(
        "UnsupportedError Spark needs Java 17 or newer, and its JVM did not start"
    )
    assert "let JAVA_HOME point to it" in out
    assert out.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_unknown_master_is_named():
    out, _ = python(FAIL.format(master="locl[1]"))
    assert out.startswith("UnsupportedError Spark did not start with master 'locl[1]': ")
    assert out.count("\n") == 1
