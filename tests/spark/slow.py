"""Transforms that record the ids they get: one sleeps, one traps its process."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import psutil
from pyspark import TaskContext

from tests.support.waiting import until

HELD = 200.0  # seconds, longer than a kill takes


@dataclass(frozen=True)
class Slow:
    """Appends a line of ids to a file per process in `folder` on each call, then sleeps."""

    folder: str
    seconds: float = 0.0

    def __call__(self, batch):
        with open(Path(self.folder, str(os.getpid())), "a") as file:
            file.write(" ".join(map(str, batch.ids)) + "\n")
        time.sleep(self.seconds)
        return batch

    def calls(self):
        """Returns the [ids] of each call, over all processes."""
        lines = [line for path in self._files() for line in path.read_text().splitlines()]
        return [[int(n) for n in line.split()] for line in lines]

    def processes(self):
        """Returns the ids of the processes that have called it."""
        return [int(path.name) for path in self._files()]

    def _files(self):
        return [path for path in Path(self.folder).iterdir() if path.name.isdigit()]


@dataclass(frozen=True)
class Trap(Slow):
    """Holds the process that makes the first call after `after` calls of all processes."""

    after: int = 0

    def __call__(self, batch):
        super().__call__(batch)
        if len(self.calls()) > self.after:
            context = TaskContext.get()  # None in a child process of a task with several workers
            with suppress(FileExistsError):
                partition = -1 if context is None else context.partitionId()
                self._caught.symlink_to(f"{os.getpid()},{partition}")
                time.sleep(HELD)
        return batch

    def caught(self):
        """Returns [process id, partition of its task or -1] after a catch, else None."""
        with suppress(FileNotFoundError):
            return [int(number) for number in self._caught.readlink().name.split(",")]

    @property
    def _caught(self):
        return Path(self.folder, "caught")


class Fault(Thread):
    """Applies `do` to the process that a Trap holds.

    Attributes
    ----------
    victim : psutil.Process
        A descendant of this process.
    partition : int
        Partition of its task, or -1 for a task with several workers.
    """

    def __init__(self, trap, do):
        super().__init__(daemon=True)
        self.trap, self.do = trap, do

    def run(self):
        number, self.partition = until(self.trap.caught)
        self.victim = psutil.Process(number)
        assert psutil.Process() in self.victim.parents()
        self.do(self.victim)


def executor_of(process):
    """Returns the executor JVM above a Python worker."""
    commands = {one: " ".join(one.cmdline()) for one in process.parents()}
    return next(one for one in commands if "CoarseGrainedExecutorBackend" in commands[one])
