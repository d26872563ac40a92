"""Stands in for a Group where what travels matters and how does not: ranks are threads."""

from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from types import SimpleNamespace

LIMIT = 20  # seconds that a rank waits for another


class Room:
    """What ranks leave for each other."""

    def __init__(self, size):
        self.size = size
        self.lines = {(i, j): Queue(1) for i in range(size) for j in range(size)}


class Double:
    """One rank. A send waits while the line to that rank is full, as a socket's does."""

    def __init__(self, room, rank):
        self.rank, self.size, self._lines = rank, room.size, room.lines
        self.members = [SimpleNamespace(host="here") for _ in range(room.size)]

    def send(self, x, to, tag=0):
        self._lines[self.rank, to].put(bytes(x), timeout=LIMIT)

    def receive(self, x, source, tag=0):
        x[:] = memoryview(self._lines[source, self.rank].get(timeout=LIMIT))

    def all_gather_bytes(self, data):
        for other in range(self.size):
            self.send(data, other)
        return [self._lines[i, self.rank].get(timeout=LIMIT) for i in range(self.size)]


def together(size, function, *args):
    """What `function(group, *args)` gives on each rank; the error of the lowest that fails."""
    room = Room(size)
    with ThreadPoolExecutor(size) as pool:
        jobs = [pool.submit(function, Double(room, rank), *args) for rank in range(size)]
        return [job.result(LIMIT) for job in jobs]
