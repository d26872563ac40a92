"""Prefetching in a thread, so that reading and computing overlap."""

import threading
import weakref
from collections import deque

from sparkdl.errors import ConfigError
from sparkdl.thread_start import start_thread

LOOK = 1.0  # seconds between two looks whether the thread that reads ahead still lives


def prefetch(iterator, depth):
    """Returns an iterator over the same items that reads up to `depth` of them ahead.

    Reading begins at once. After `close()`, or when the iterator is garbage-collected, the thread
    ends with the item it is reading. An error of the source is raised in its place among the items.
    With depth 0 there is no thread.
    """
    if depth < 0:
        raise ConfigError(f"prefetch needs a depth of at least 0 items, got {depth}")
    return Prefetch(iter(iterator), depth) if depth else (item for item in iterator)


class Prefetch:
    """Consumer side of prefetching; see `prefetch`."""

    def __init__(self, iterator, depth):
        self._buffer = Buffer(depth)
        # The thread refers only to the buffer, as a reference to this object would keep it alive.
        thread = threading.Thread(
            target=_fill, args=(self._buffer, iterator), name="sparkdl-prefetch", daemon=True
        )
        self._close = weakref.finalize(self, self._buffer.stop)
        self._thread = thread
        start_thread(thread)

    def __iter__(self):
        return self

    def __next__(self):
        return self._buffer.get(self._thread.is_alive)

    def close(self, timeout=5.0):
        """Stops reading; waits at most `timeout` seconds for the item being read."""
        self._close()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)


class Buffer:
    """A bounded queue between a producer and a consumer thread; either may stop at any time."""

    def __init__(self, depth):
        self._depth = depth
        self._items = deque()
        self._changed = threading.Condition()
        self._ended = self._stopped = False
        self._error = None

    def put(self, item):
        """Adds the item and waits for room; returns whether more items are wanted."""
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._stopped or len(self._items) < self._depth)
            return not self._stopped

    def end(self, error=None):
        """Ends the items; `error` is raised after the remaining ones."""
        with self._changed:
            self._ended, self._error = True, None if self._stopped else error
            self._changed.notify_all()

    def get(self, is_filled):
        """Returns the next item.

        At the end it raises StopIteration, or once the source's error; a MemoryError if nobody
        fills the buffer any more, as is_filled() says.
        """
        with self._changed:
            while not self._changed.wait_for(
                lambda: self._items or self._ended or self._stopped, LOOK
            ):
                if not is_filled():
                    raise MemoryError("reading ahead had no memory even to say so")
            if self._items:
                item = self._items.popleft()
                self._changed.notify_all()
                return item
            error, self._error = self._error, None
        if error is not None:
            raise error
        raise StopIteration

    def stop(self) -> None:
        """Stops the source and discards the items."""
        with self._changed:
            self._stopped = True
            self._items.clear()
            self._error = None
            self._changed.notify_all()


def _fill(buffer, iterator):
    error = None
    try:
        for item in iterator:
            if not buffer.put(item):
                break
            del item  # else one more batch than `depth` stays in memory
        if hasattr(iterator, "close"):
            iterator.close()
    except BaseException as caught:
        error = caught
    finally:
        buffer.end(error)
