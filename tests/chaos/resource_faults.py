"""Faults that take memory, disk space or files from an executor; each takes a worker's process."""

import resource
import shutil
import tempfile
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import psutil

from tests.chaos.process_faults import LONG
from tests.support.disks import may_mount, small_disk

MEGABYTES = 64  # of the disk that Spark and all temporary files of executors have


@contextmanager
def spark_disk(folder):
    """Yields Spark settings for a small disk, mounted if this user may mount disks."""
    disk = Path(folder, "disk")
    with small_disk(disk, f"{MEGABYTES}m") if may_mount() else nullcontext():
        disk.mkdir(exist_ok=True)
        yield {"spark.local.dir": disk, "spark.executorEnv.TMPDIR": disk}


def limit_memory(worker):
    """Makes the kernel refuse a worker any further memory, as `ulimit -v` does."""
    most = worker.memory_info().vms
    worker.rlimit(resource.RLIMIT_AS, (most, most))


def fill_disk(seconds):
    def fill(worker):
        folder = disks_of(worker)[0].parents[1]
        total = shutil.disk_usage(folder).total
        assert total <= MEGABYTES << 20, f"{folder} has {total} bytes: only a small disk is filled"
        deadline = time.monotonic() + seconds
        with tempfile.NamedTemporaryFile(dir=folder, prefix="filler-", buffering=0) as file:
            while time.monotonic() < deadline:
                with suppress(OSError):  # it is full
                    while True:
                        file.write(bytes(1 << 12))
                time.sleep(0.01)  # until somebody has made room

    return fill


def remove_records(worker):
    """Removes the records a fit stored on an executor, as cleaners of /tmp do."""
    for disk in disks_of(worker):
        for folder in disk.glob("sparkdl-*"):
            shutil.rmtree(folder)


def remove_records_and_kill(worker):
    remove_records(worker)
    worker.kill()


def disks_of(worker):
    """Returns the local folders that Spark assigned to a worker's executor."""
    return list(map(Path, environment_of(worker)["SPARK_LOCAL_DIRS"].split(",")))


def environment_of(worker):
    """Returns the environment of a process or, if it was spawned, of its parent."""
    return next(filter(lambda found: "SPARK_LOCAL_DIRS" in found, environments(worker)))


def environments(worker):
    for process in (worker, *worker.parents()):
        with suppress(psutil.AccessDenied):
            yield process.environ()


RESOURCE_FAULTS = {
    "worker without memory": limit_memory,
    "disk full, a while": fill_disk(LONG),
    "records removed": remove_records,
    "records removed, worker killed": remove_records_and_kill,
}
