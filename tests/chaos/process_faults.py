"""Faults of a worker's process, or of the executor above it."""

import time
from contextlib import suppress

import psutil

from tests.spark.slow import executor_of

LIMIT = 8.0  # seconds of silence after which a worker counts as lost
SHORT, LONG = 0.25 * LIMIT, 3 * LIMIT


def stopping(seconds):
    def stop(process):
        process.suspend()
        time.sleep(seconds)
        with suppress(psutil.NoSuchProcess):
            process.resume()

    return stop


def kill_all(worker):
    """Kills all Python processes of an executor at once."""
    for process in executor_of(worker).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def kill_executors(worker):
    """Kills the JVMs of all executors at once."""
    for process in executor_of(worker).parent().children():
        process.kill()


PROCESS_FAULTS = {
    "worker killed": lambda worker: worker.kill(),
    "executor killed": lambda worker: executor_of(worker).kill(),
    "executor's Python killed": kill_all,
    "all executors killed": kill_executors,
    "worker stopped, short": stopping(SHORT),
    "worker stopped, long": stopping(LONG),
    "executor stopped, short": lambda worker: stopping(SHORT)(executor_of(worker)),
    "executor stopped, long": lambda worker: stopping(LONG)(executor_of(worker)),
}


def hurting(do, slow, choose):
    """Returns a fault that hits one of the processes that called `slow`.

    Parameters
    ----------
    do : function of a psutil.Process
    slow : Slow
    choose : function of a list of processes that returns one
    """

    def hurt(over):
        own = {one.pid: one for one in psutil.Process().children(recursive=True)}
        victims = [own[pid] for pid in sorted(slow.processes()) if pid in own]
        if victims:
            with suppress(psutil.NoSuchProcess):
                do(choose(victims))
        return bool(victims)

    return hurt
