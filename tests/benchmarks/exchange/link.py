"""Two workers on two simulated hosts with a slow link between them.

Hosts are network namespaces, which need privileges. The driver runs on the left host with the first
worker, so its traffic with the second worker uses the link too.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sparkdl.training.workers.local import LocalWorkers, WorkerProcess
from tests.benchmarks.cpu.processes import Failed
from tests.benchmarks.peers.environment import ROOT
from tests.support.namespaces import two_hosts, why_not

RATE = "1gbit"


def on_the_left(module, *arguments, rate=RATE):
    """Yields the JSON lines that a module prints on the left host.

    Its main gets the left host's address, the pid of a process on the right host, and the
    arguments.

    Raises
    ------
    Failed, if hosts cannot be created, or with the last line of the module's error.
    """
    if reason := why_not():
        raise Failed(reason)
    with two_hosts(rate) as (left, right):
        place = ["nsenter", f"--target={left.holder}", "--net"]
        command = [*place, sys.executable, "-m", module, left.address, str(right.holder)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen([*command, *arguments], cwd=ROOT, **pipes) as process:
            for line in process.stdout:
                yield json.loads(line)
            errors = process.stderr.read()
        if process.returncode:
            raise Failed((errors.strip().splitlines() or ["no word"])[-1])


class HostWorkers(LocalWorkers):
    """Two single-threaded worker processes, the second on another host.

    If the machine has two cores, each host gets its own, so neither takes time from the other.
    Masters need shared_memory=False, as the hosts differ only in their network.

    Parameters
    ----------
    address : str
        Address of this host.
    right : int
        Pid of a process on the other host.
    """

    def __init__(self, address, right):
        super().__init__(2, threads=1)
        self.host, self._folder = address, tempfile.TemporaryDirectory()
        cores = sorted(os.sched_getaffinity(0))
        places = f"taskset -c {cores[0]}", f"taskset -c {cores[-1]} nsenter --target={right} --net"
        self._pythons = [self._python(f"python{i}", place) for i, place in enumerate(places)]

    def _python(self, name, place):
        """Writes a script that runs Python with the prefix `place`; returns its path."""
        path = Path(self._folder.name) / name
        path.write_text(f'#!/bin/sh\nexec {place} {sys.executable} "$@"\n')
        path.chmod(0o700)
        return str(path)

    def close(self):
        super().close()
        self._folder.cleanup()

    def _start(self):
        for rank in range(len(self._processes), self.size):
            multiprocessing.set_executable(self._pythons[rank])
            self._processes.append(WorkerProcess(rank, self.threads, self.timeout))
        multiprocessing.set_executable(sys.executable)
