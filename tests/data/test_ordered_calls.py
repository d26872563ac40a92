"""Calls by several threads: results and errors in order, bounds, and no thread left behind."""

import signal
import threading
from contextlib import closing

import pytest

from sparkdl.data import file_systems
from sparkdl.data.file_systems import takes_threads
from sparkdl.data.ordered_calls import THREADS, each_in_order
from sparkdl.errors import DataError
from tests.data.buckets import install

SECONDS = 30  # for what happens at once


@pytest.fixture
def paths(monkeypatch):
    install(monkeypatch)
    return [f"s3://bucket/{i}" for i in range(5 * THREADS)]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not [one for one in threading.enumerate() if one.name == "sparkdl-files"]


def test_calls_go_on_at_once_and_results_keep_their_order(paths):
    together = threading.Barrier(THREADS)

    def call(path):
        together.wait(SECONDS)
        return path

    with each_in_order(call, paths) as results:
        assert list(results) == paths


def test_a_slow_first_call_holds_up_no_other(paths):
    others, done = threading.Event(), []

    def call(path):
        if path == paths[0]:
            assert others.wait(SECONDS)
        done.append(path)
        if len(done) == THREADS:
            others.set()
        return path

    with each_in_order(call, paths) as results:
        assert list(results) == paths
    assert done[0] != paths[0]


def test_results_that_nobody_takes_are_bounded(paths):
    begun, enough = [], threading.Event()

    def call(path):
        begun.append(path)
        if len(begun) == 20:
            enough.set()

    with each_in_order(call, paths, ahead=20) as results:
        assert enough.wait(SECONDS)
        assert begun == paths[:20]
        next(results)
    assert len(begun) <= 21


def test_the_first_error_in_order_is_raised_though_a_later_one_came_before(paths):
    later, begun = threading.Event(), []

    def call(path):
        begun.append(path)
        if path == paths[3]:
            assert later.wait(SECONDS)
            raise DataError(f"{path}: first")
        if path == paths[5]:
            later.set()
            raise DataError(f"{path}: second")
        return path

    found = []
    with pytest.raises(DataError, match=f"^{paths[3]}: first"):
        with each_in_order(call, paths) as results:
            found.extend(one for one in results)
    assert len(begun) < len(paths)


def test_results_before_an_error_are_given(paths):
    def call(path):
        if path == paths[3]:
            raise DataError("broken")
        return path

    found = []
    with pytest.raises(DataError, match="broken"), each_in_order(call, paths) as results:
        for one in results:
            found.append(one)
    assert found == paths[:3]


def test_an_interrupt_ends_the_calls(paths):
    """It comes while the caller waits for a result; calls that wait for room end, too."""
    waiting, ended = threading.Event(), threading.Event()

    def call(path):
        if path == paths[0]:
            waiting.set()
            assert ended.wait(SECONDS)

    def interrupt():
        assert waiting.wait(SECONDS)
        signal.raise_signal(signal.SIGINT)
        ended.set()

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt), each_in_order(call, paths) as results:
        thread.start()
        list(results)
    thread.join()


def test_a_generator_that_is_closed_ends_the_calls(paths):
    def lines():
        with each_in_order(str, paths) as results:
            yield from results

    with closing(lines()) as found:
        assert next(found) == paths[0]


@pytest.mark.parametrize("form", ["/tmp/{}", "file:///tmp/{}", "memory://{}", "ftp://host/{}"])
def test_other_calls_are_made_one_by_one(form):
    """Also where a client has one connection, and must not be asked by two threads at a time."""
    of_threads = []

    def call(path):
        of_threads.append(threading.current_thread())

    with each_in_order(call, [form.format(i) for i in range(3)]) as results:
        assert not of_threads
        list(results)
    assert of_threads == [threading.main_thread()] * 3


def test_threads_start_no_threads(paths):
    def call(path):
        with each_in_order(lambda one: threading.current_thread(), paths) as results:
            return {*results} == {threading.current_thread()}

    with each_in_order(call, paths) as results:
        assert all(results)


TAKES = {
    "/a": True,
    "hdfs://host/a": True,
    "viewfs:///a": True,
    "s3://bucket/a": True,
    "webhdfs://host/a": False,
    "memory://a": False,
    "zip://a::/b.zip": False,
    "nobody://a": False,
    "simplecache::s3://bucket/a": False,
}


@pytest.mark.parametrize("path", TAKES)
def test_file_systems_that_take_threads(path, monkeypatch):
    install(monkeypatch)
    monkeypatch.setattr(file_systems, "resolve", None)  # nobody is reached
    assert takes_threads(path) == TAKES[path]
