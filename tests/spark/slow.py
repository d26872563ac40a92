"""A transform that takes its time and writes down what it was given."""

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Slow:
    """Each call appends a line "process: ids" to a file of `folder`, then sleeps."""

    folder: str
    seconds: float

    def __call__(self, batch):
        with open(Path(self.folder, str(os.getpid())), "a") as file:
            file.write(" ".join(map(str, batch.ids)) + "\n")
        time.sleep(self.seconds)
        return batch

    def calls(self):
        """[ids] of each call, of all processes."""
        lines = [line for path in self._files() for line in path.read_text().splitlines()]
        return [[int(n) for n in line.split()] for line in lines]

    def processes(self):
        """Those that have called it."""
        return [int(path.name) for path in self._files()]

    def newest(self):
        """(process of the newest call, when it was)"""
        times = [(path.stat().st_mtime_ns, int(path.name)) for path in self._files()]
        return max(times)[::-1] if times else (None, 0)

    def _files(self):
        return list(Path(self.folder).iterdir())
