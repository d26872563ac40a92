"""Prefetching changes nothing but the timing, and never hangs."""

import gc
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkdl.data import prefetch
from sparkdl.data.batches.prefetch import Buffer
from sparkdl.errors import ConfigError

pytestmark = pytest.mark.timeout(200)


def threads():
    return [t for t in threading.enumerate() if t.name == "sparkdl-prefetch"]


def soon(holds):
    """Whether `holds` becomes true within a minute."""
    end = time.monotonic() + 60
    while not holds() and time.monotonic() < end:
        time.sleep(0.005)
    return holds()


class Counter:
    """An iterator that counts the items taken and records that it was closed."""

    def __init__(self):
        self.taken, self.closed = 0, False

    def __iter__(self):
        return self

    def __next__(self):
        self.taken += 1
        return self.taken

    def close(self):
        self.closed = True


@pytest.mark.slow
@given(st.integers(0, 30), st.integers(0, 5))
def test_items_come_in_order(n, depth):
    assert list(prefetch(range(n), depth)) == list(range(n))


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_depth_items_are_read_ahead_and_no_more(depth):
    source = Counter()
    ahead = prefetch(source, depth)
    assert soon(lambda: source.taken == depth)
    assert next(ahead) == 1
    assert soon(lambda: source.taken == depth + 1)
    time.sleep(0.05)
    assert source.taken == depth + 1
    ahead.close()


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_an_error_comes_after_the_items_before_it(depth):
    def source():
        yield from (1, 2)
        raise OSError("disk gone")

    ahead = prefetch(source(), depth)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(OSError, match="disk gone"):
        next(ahead)
    with pytest.raises(StopIteration):
        next(ahead)


def test_close_ends_the_thread_and_the_source():
    source, before = Counter(), threads()
    ahead = prefetch(source, 2)
    next(ahead)
    ahead.close()
    assert source.closed
    assert not set(threads()) - set(before)
    with pytest.raises(StopIteration):
        next(ahead)
    ahead.close()


def test_dropping_it_ends_the_thread():
    source = Counter()
    ahead = prefetch(source, 2)
    next(ahead)
    del ahead
    gc.collect()
    assert soon(lambda: source.closed and not threads())


def test_close_does_not_wait_for_ever():
    release = threading.Event()

    def stuck():
        yield 1
        release.wait()

    ahead = prefetch(stuck(), 2)
    next(ahead)
    ahead.close(timeout=0.1)
    release.set()
    assert soon(lambda: not threads())


def test_an_error_after_close_is_not_raised():
    reading = threading.Event()
    release = threading.Event()

    def source():
        reading.set()
        release.wait()
        raise OSError("too late")
        yield

    ahead = prefetch(source(), 1)
    reading.wait()
    ahead.close(timeout=0)
    release.set()
    assert soon(lambda: not threads())
    assert list(ahead) == []


def test_close_frees_a_reader_that_waits():
    release = threading.Event()

    def stuck():
        release.wait()
        yield

    ahead, found = prefetch(stuck(), 1), []
    reader = threading.Thread(target=lambda: found.extend(ahead))
    reader.start()
    ahead.close(timeout=0)
    reader.join(60)
    assert not reader.is_alive() and found == []
    release.set()


def test_reading_and_computing_overlap():
    reads = [threading.Event() for _ in range(5)]

    def source():
        for i, read in enumerate(reads):
            read.set()
            yield i

    for i in prefetch(source(), 1):
        assert all(read.wait(60) for read in reads[: i + 2]), "the next is read beside this one"


def test_a_negative_depth_is_refused():
    with pytest.raises(ConfigError, match="at least 0 items, got -1"):
        prefetch([], -1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_without_a_word_is_not_awaited(monkeypatch):
    """As one that lacks memory even to record its error."""

    def lack_memory(buffer, error=None):
        raise MemoryError

    monkeypatch.setattr(Buffer, "end", lack_memory)
    batches = prefetch([1], 2)
    assert next(batches) == 1
    with pytest.raises(MemoryError, match="reading ahead had no memory"):
        next(batches)
