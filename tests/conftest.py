"""Fixtures of all tests; they share one Spark, whose two executors take some 15 s to start."""

import gc
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # several test processes share the cores

import pytest
from hypothesis import HealthCheck, settings

from tests.cluster.hdfs import Hdfs
from tests.cluster.required import or_skip
from tests.cluster.yarn import Yarn
from tests.support import class_archive
from tests.support.failures import Announcement, break_lines_with_calls, cancel_jobs
from tests.support.forks import Forks
from tests.support.jax_programs import forget_programs, keep_programs
from tests.support.jvm import frugal_spark
from tests.support.lanes import in_order, needs_jvm
from tests.support.loaded_daemon import IN_TESTS
from tests.support.processes import load_tests

settings.register_profile(  # a busy machine is no fault of an example
    "tests", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")
load_tests()
keep_programs()  # before the first test file loads JAX
break_lines_with_calls()

DONE_BEFORE_SPARK = []  # functions that stop services whose memory is no longer needed
SMALL = {
    "spark.sql.shuffle.partitions": 3,
    "spark.default.parallelism": 3,
    # Gives an executor's exit status time to arrive before its disconnection is reported.
    "spark.standalone.executorRemoveDelayOnDisconnection": "120s",
    "spark.sparkdl.keptData": 0,  # tests check what a fit leaves behind; some override it
} | IN_TESTS
# Spark tries a task that fails four times, which takes seconds where a test wants the error.
TWO_ATTEMPTS = {"spark.task.maxFailures": 2}


def pytest_addoption(parser):
    text = "Run tests in this many processes at a time; 1: in this one, files in their order."
    parser.addoption("--processes", type=int, default=1, metavar="COUNT", help=text)


@pytest.hookimpl(trylast=True)  # once the terminal reporter exists
def pytest_configure(config):
    if in_forks(config):
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        config.pluginmanager.register(Announcement(terminal))
        config.pluginmanager.register(Forks(config.getoption("processes")))


def in_forks(config):
    return config.getoption("processes") > 1


def pytest_exception_interact():
    cancel_jobs()


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config, items):
    for item in filter(needs_jvm, items):
        item.add_marker("jvm")
    if in_forks(config):
        items[:] = in_order(items)


def pytest_collection_finish(session):
    gc.freeze()  # full garbage collections would traverse thousands of test items


@pytest.hookimpl(trylast=True)  # after the teardown of the test's own fixtures
def pytest_runtest_teardown():
    forget_programs()


@pytest.fixture(scope="session", autouse=True)
def own_places(tmp_path_factory, request):
    """Gives the tests and the processes they start caches and settings apart from the user's."""
    frugal_spark(tmp_path_factory.mktemp("spark-conf"))
    shared = tmp_path_factory.getbasetemp()  # among the processes of one run
    os.environ["XDG_CACHE_HOME"] = str(shared / "cache")
    wanted = any(map(needs_jvm, request.session.items))
    making = class_archive.begin() if wanted else None
    yield
    if making is not None:  # a short run may end first
        class_archive.end(making)


@pytest.fixture(scope="session")
def spark():
    """A SparkSession with two executors of one core each."""
    from sparkdl.spark.session import session
    from tests.support.executors import all_awaited

    while DONE_BEFORE_SPARK:
        DONE_BEFORE_SPARK.pop()()
    all_awaited()
    with session("local-cluster[2,1,1024]", SMALL | TWO_ATTEMPTS, name="tests") as spark:
        yield spark


@pytest.fixture
def sc(spark):
    return spark.sparkContext


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory):
    """A tests.cluster.hdfs.Hdfs with two DataNodes."""
    folder = tmp_path_factory.mktemp("hdfs")
    running = or_skip("hdfs", lambda: Hdfs(folder).start())
    yield running
    running.stop()


@pytest.fixture(scope="session")
def yarn(hdfs, request):
    """A tests.cluster.yarn.Yarn with two NodeManagers."""
    running = or_skip("yarn", lambda: Yarn(hdfs).start())
    if in_forks(request.config):  # `in_order` runs the tests that need it first
        DONE_BEFORE_SPARK.append(running.stop)
    yield running
    running.stop()
