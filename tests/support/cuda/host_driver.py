"""A driver whose device is the host: the kernels' own source runs on the processor.

It is as late as CUDA may be: what is put on a stream runs when somebody waits for it, or for what
comes behind it. So what forgets to wait for an event finds old numbers, and a slot that is filled
again too early spoils a copy. All calls are kept in `log` for tests to look at.

What a library does on a stream may have to wait for others: it returns False until they have come.
"""

import ctypes
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from threading import RLock

import numpy as np

from sparkdl.engine.backends.cuda.device.device_array import DeviceArray
from sparkdl.engine.backends.cuda.device.driver import Properties
from sparkdl.errors import UnsupportedError
from tests.support.cuda.compiler import compiled

ALIGNMENT = 256
LIMIT = 60.0  # seconds that a stream may stand still
Dim = ctypes.c_uint * 3


@dataclass
class Stream:
    queue: deque = field(default_factory=deque)
    captured: list | None = None


@dataclass
class Event:
    stream: Stream | None = None
    place: object = None


@dataclass
class Function:
    name: str
    entry: object


class HostDriver:
    """See sparkdl.engine.backends.cuda.device.driver.Driver."""

    number = 0

    def __init__(self, memory=1 << 32, id="GPU-0"):
        self.properties = Properties(
            name="the host",
            capability=(9, 0),
            processors=2,
            memory=memory,
            shared=228 << 10,
            id=id,
        )
        self.log, self.lock = [], RLock()
        self.capturing = 0

    def use(self):
        pass

    def free(self):
        return self.properties.memory

    def allocate(self, size):
        if self.capturing:
            raise AssertionError("memory is allocated while a graph is captured")
        self.log.append(("allocate", size))
        memory = aligned(size)
        return DeviceArray.at(memory.ctypes.data, size, memory)

    def allocate_pinned(self, size):
        self.log.append(("pinned", size))
        return aligned(size)

    def stream(self):
        return Stream()

    def address(self, stream):
        """Runs what is on the stream: whoever asks puts work there that is not seen here."""
        end = self.event()
        self.record(end, stream)
        self.synchronize(end)
        return 0

    def event(self):
        return Event()

    def record(self, event, stream):
        if stream.captured is not None:
            return  # within a graph everything runs in the order in which it was captured
        with self.lock:
            self.log.append(("record", id(event), id(stream)))
            event.stream, event.place = stream, object()
            stream.queue.append(event.place)

    def wait(self, stream, event):
        if stream.captured is not None:
            return
        self.log.append(("wait", id(event), id(stream)))
        if event.stream is not None:
            self.put(stream, partial(self.advance, event.stream, event.place))

    def synchronize(self, event):
        assert not self.capturing, "a graph is being captured"
        self.log.append(("synchronize", id(event)))
        end = time.monotonic() + LIMIT
        while not self.is_reached(event):
            assert time.monotonic() < end, "what is on the stream does not go on"
            time.sleep(0.0005)

    def is_reached(self, event):
        return event.stream is None or self.advance(event.stream, event.place)

    def advance(self, stream, place):
        """Run what lies on a stream up to a place; whether that is reached."""
        with self.lock:
            if not any(work is place for work in stream.queue):
                return True
            while (work := stream.queue[0]) is not place:
                if callable(work) and work() is False:
                    return False
                stream.queue.popleft()
            stream.queue.popleft()
            return True

    def upload(self, target, source, stream):
        self.copied("upload", target, source, stream)

    def download(self, target, source, stream):
        self.copied("download", target, source, stream)

    def move(self, target, source, stream):
        self.copied("move", target, source, stream)

    def copied(self, kind, target, source, stream):
        assert target.nbytes == source.nbytes, (target.nbytes, source.nbytes)
        assert target.flags.c_contiguous and source.flags.c_contiguous
        addresses = target.ctypes.data, source.ctypes.data
        self.log.append((kind, *addresses, target.nbytes))
        copy = partial(ctypes.memmove, *addresses, target.nbytes)
        self.put(stream, copy, (target, source))

    def fill(self, target, byte, stream):
        assert target.flags.c_contiguous
        self.log.append(("fill", target.address, target.nbytes))
        self.put(stream, partial(ctypes.memset, target.address, byte, target.nbytes), target)

    def compile(self, text):
        try:
            return compiled(text)
        except ValueError as error:
            raise UnsupportedError(str(error)) from None

    def function(self, module, name):
        return Function(name, getattr(module, f"launch_{name}"))

    def launch(self, function, grid, block, arguments, shared, stream):
        assert shared <= self.properties.shared and np.prod(block) <= 1024, (shared, block)
        assert grid[0] < 1 << 31 and max(grid[1:]) < 1 << 16, grid
        pointers = tuple(a.address for a in arguments.arrays)
        self.log.append(("launch", function.name, pointers, grid, block, id(stream)))
        words = Dim(*grid), Dim(*block), ctypes.c_size_t(shared), arguments.pointers
        self.put(stream, partial(function.entry, *words), arguments)

    def enqueue(self, work, stream):
        self.log.append(("library", work, id(stream)))
        self.put(stream, partial(work, 0), work)

    def seconds(self, work, stream):
        assert not self.capturing, "a graph is being captured"
        return 0.0

    def begin(self, stream):
        self.capturing += 1
        self.log.append(("begin",))
        stream.captured = []

    def end(self, stream):
        self.capturing -= 1
        self.log.append(("end", len(stream.captured)))
        graph, stream.captured = stream.captured, None
        return graph

    def replay(self, graph, stream):
        self.log.append(("replay", len(graph)))
        for call, keep in graph:
            self.put(stream, call, keep)

    def put(self, stream, call, keep=None):
        """Work at the end of a stream, or of the graph that is made of it."""
        if stream.captured is not None:
            stream.captured.append((call, keep))
            return
        with self.lock:
            stream.queue.append(partial(run, call, keep))


def run(call, keep):
    return call()


def aligned(size):
    """Memory full of NaN, so that what nobody wrote is seen."""
    memory = np.full(size + ALIGNMENT, 0xFF, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]
