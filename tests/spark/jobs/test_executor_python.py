"""An executor Python that cannot run sparkdl is named before any job, with the cure."""

import sys
from types import SimpleNamespace

import pytest

from sparkdl.errors import ConfigError, WorkerError
from sparkdl.spark.jobs.executor_python import CURE, SEND_MODULE, check_executor_python
from sparkdl.spark.jobs.job import error_in_text

NO_PYTHON = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 3.0 (TID 3) (host executor 1): org.apache.spark.SparkException:
Error from python worker:
{}
PYTHONPATH was:
  /spark/python/lib/pyspark.zip
org.apache.spark.SparkException: EOFException occurred while reading the port number
	at org.apache.spark.api.python.PythonWorkerFactory.startDaemon(PythonWorkerFactory.scala:382)
"""
MISSING = "Traceback (most recent call last):\n  x\nModuleNotFoundError: No module named '{}'"


def context(python, master="local[2]", includes=(), **options):
    options = {f"spark.{name}": value for name, value in options.items()}
    return SimpleNamespace(
        master=master, pythonExec=str(python), _python_includes=list(includes), _conf=options
    )


@pytest.fixture
def python(tmp_path):
    """Returns a function that writes a stub Python, which prints or raises something."""

    def write(lines):
        path = tmp_path / "python3"
        path.write_text(f"#!/bin/sh\n{lines}\n")
        path.chmod(0o755)
        return path

    return write


OWN = "{}.{}".format(*sys.version_info)
REFUSED = {
    "another version": ("echo 2.7", f"Python 2.7 where the driver has {OWN}"),
    "no sparkdl": (
        "echo \"ModuleNotFoundError: No module named 'sparkdl'\" >&2; exit 1",
        "python3: ModuleNotFoundError: No module named 'sparkdl'",
    ),
    "no words": ("exit 3", "python3: it fails"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_a_python_that_cannot_is_refused(case, master, python):
    lines, words = REFUSED[case]
    with pytest.raises(ConfigError, match="^the executors' Python must have sparkdl") as caught:
        check_executor_python(context(python(lines), master))
    assert words in str(caught.value) and str(caught.value).endswith(CURE)


def test_a_python_that_is_not_there():
    with pytest.raises(ConfigError, match="got /no/python3: not found; start the session with"):
        check_executor_python(context("/no/python3"))


def test_what_is_not_asked(python):
    fails = python("exit 1")
    check_executor_python(context(sys.executable))
    check_executor_python(context(fails, "yarn"))  # on other machines
    check_executor_python(context(fails, includes=["sparkdl.zip"]))
    check_executor_python(context(fails, archives="environment.tar.gz"))


def test_another_python_that_has_all(python):
    check_executor_python(context(python(f'exec {sys.executable} "$@"')))


@pytest.mark.parametrize("package", ["sparkdl", "numpy", "pyarrow"])
def test_a_task_that_lacks_a_package_brings_the_cure(package):
    error = error_in_text(MISSING.format(package), "reading the data")
    assert isinstance(error, WorkerError)
    assert str(error).endswith(f"No module named '{package}'; {CURE}")


def test_other_modules_are_the_users_own():
    error = error_in_text(MISSING.format("own_helpers"), "a round")
    said = str(error)
    assert isinstance(error, ConfigError)
    assert CURE not in said and said.endswith(f"No module named 'own_helpers'; {SEND_MODULE}")


OURS = "sparkdl.spark.python_daemon"
LACKS = "python: Error while finding module specification for '{}' (ModuleNotFoundError: ...)"
TRACE = "  Traceback (most recent call last):\n    File x\n  ImportError: libm.so.6 is missing"
NOT_STARTED = [
    (f"  {LACKS.format(OURS)}", f"{LACKS.format(OURS)}; {CURE}; if --py-files brings it, set "),
    (f"  python: No module named {OURS}", f"python: No module named {OURS}; {CURE}; if --py-"),
    (f"  {LACKS.format('mine')}", LACKS.format("mine")),
    (TRACE, "ImportError: libm.so.6 is missing"),
    ("", "Error from python worker:"),
]


@pytest.mark.parametrize("printed, says", NOT_STARTED)
def test_a_python_that_does_not_start_says_why(printed, says):
    said = str(error_in_text(NO_PYTHON.format(printed), "a round"))
    assert said.startswith(f"a round failed on the cluster: {says}")
    assert OURS in says or said.endswith(says)
