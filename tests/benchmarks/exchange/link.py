"""Two workers on two hosts of this machine, with a slowed link between them.

Hosts are network namespaces, so this needs the rights to make them. The driver runs on the left
host, beside the first worker: what it hears of the second one takes the link too.
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
    """What the module prints on the left host, a value of JSON a line.

    Its main gets the number of a process of the right host, and the arguments.

    Raises
    ------
    Failed, where there can be no hosts, or with the last line of what went wrong.
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
    """Two processes of one thread, the second one on another host.

    Each host has a core of its own, where the machine has two: what one of them computes, sends and
    receives takes no time from the other. Their masters need shared_memory=False: the hosts are two
    by their network alone.

    Parameters
    ----------
    address : str
        Of this host.
    right : int
        A process of the other host.
    """

    def __init__(self, address, right):
        super().__init__(2, threads=1)
        self.host, self._folder = address, tempfile.TemporaryDirectory()
        cores = sorted(os.sched_getaffinity(0))
        places = f"taskset -c {cores[0]}", f"taskset -c {cores[-1]} nsenter --target={right} --net"
        self._pythons = [self._python(f"python{i}", place) for i, place in enumerate(places)]

    def _python(self, name, place):
        """A program that is Python in that place."""
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
