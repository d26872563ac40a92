"""Tasks for workers, as functions of a module that processes can import."""

import os
import signal
import threading
import time

import numpy as np

from sparkdl.errors import DataError
from sparkdl.training.workers.contribution import Contribution


def contribution(vector, examples=1, loss=0.0):
    figures = {"updates": 1, "reading": 0.0, "compute": 0.0}
    return Contribution(vector=np.float32(vector), examples=examples, loss=loss, **figures)


def record_ids(shared, number, block):
    """Counts each record of the data set at the position given by its feature."""
    seen = np.zeros(shared, np.float32)
    np.add.at(seen, block.features[:, 0].astype(int), 1)
    return contribution(seen, len(block))


def block_numbers(shared, number, block):
    return contribution([number, len(block), os.getpid()], len(block))


def kill_in_block(shared, number, block):
    """Kills its process, as the kernel does when memory runs out."""
    if number == shared:
        os.kill(os.getpid(), signal.SIGKILL)
    return contribution([number])


def sleep_in_block(shared, number, block):
    chosen, seconds = shared
    if number == chosen:
        time.sleep(seconds)
    return contribution([number])


def stop_in_block(shared, number, block):
    """Stops its process, which then lives but neither reads nor writes."""
    if number == shared:
        os.kill(os.getpid(), signal.SIGSTOP)
    return contribution([number])


class Locked(DataError):
    """An error with a note, and with a lock, which no other process can have."""

    def __init__(self, text):
        super().__init__(f"{text}, with a lock")
        self.lock = threading.Lock()
        self.add_note("a note")


def raise_in_block(shared, number, block):
    chosen, error = shared
    if number in chosen:
        raise error(f"in block {number}")
    return contribution([number])


def exit_in_block(shared, number, block):
    os._exit(3)


def no_data(shared, number, block):
    raise DataError("partition 1, record 17: features must be finite, got nan at 3")


class Slowly:
    """A transform that changes nothing and is slow while a file exists.

    A worker's first `quick` batches are fast.
    """

    def __init__(self, path, quick=0):
        self.path, self.quick = path, quick

    def __call__(self, batch):
        self.quick -= 1
        time.sleep(0.3 * (self.quick < 0 and os.path.exists(self.path)))
        return batch


class Held(Slowly):
    """A transform that waits until the file is gone."""

    def __call__(self, batch):
        while os.path.exists(self.path):
            time.sleep(0.01)
        return batch


class Raise:
    """A transform that fails."""

    def __init__(self, error):
        self.error = error

    def __call__(self, batch):
        raise self.error("in a transform")
